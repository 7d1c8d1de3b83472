-- wait is for an acquisition by a process that has a candidate for the row. It is a prelude, and follows announce.
-- KEYS[#KEYS]  row, where it can be used
-- ARGV[3-5]    PUBLISH or SPUBLISH; wake channel; row
-- ARGV[6]      candidate: the session of the process, a colon, and a number
-- ARGV[7]      place that the candidate had when it was told; 0 if it was not
-- ARGV[8]      for how many milliseconds the process is known to be there
--
-- The arguments of the acquisition itself begin with ARGV[first].
--
-- Answers of the functions stand beside them.

local first = 9

-- place answers the one that the candidate has, or had when it was told. One that has none is the last.
local function place()
  local before = tonumber(ARGV[7])
  local score = before == 0 and redis.pcall('zscore', ARGV[5], ARGV[6])
  if type(score) == 'string' then
    before = math.floor(tonumber(score) / span)
  end
  if before > 0 then
    return before
  end
  local time = redis.pcall('time')
  return time.err and 0 or time[1] * 1000 + math.floor(time[2] / 1000)
end

-- stand has the candidate stand in the row, for a request that wants that many permits and was refused.
-- Without a refused request it leaves the row. Of the permits that are left the next one is told: of a
-- refused request the next behind the candidate, for a place does not say how many permits a large request
-- wants, and two of these would tell each other of the same permits for ever.
local function stand(wanted, left)
  if ARGV[5] ~= KEYS[#KEYS] then
    return 0
  end
  if wanted then
    redis.pcall('zadd', ARGV[5], string.format('%.0f', place() * span + math.min(wanted, span - 1)), ARGV[6])
    local lasts = redis.pcall('pttl', ARGV[5])
    if type(lasts) == 'number' and lasts * 4 < ARGV[8] * 3 then
      redis.pcall('pexpire', ARGV[5], ARGV[8])
    end
  else
    redis.pcall('zrem', ARGV[5], ARGV[6])
  end
  if left > 0 then
    tell(ARGV[3], ARGV[4], ARGV[5], left, wanted and ARGV[6])
  end
end
