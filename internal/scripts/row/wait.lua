-- wait is for an acquisition by a process that has a candidate. It is a prelude behind announce.
-- KEYS[#KEYS]  process queue, where it can be used
-- ARGV[3-5]    PUBLISH or SPUBLISH; wake channel; process queue
-- ARGV[6-7]    candidate; for how many milliseconds its process is known to be there
--
-- The arguments of the acquisition itself begin with ARGV[first].

local first = 8

-- wait has the candidate stand in the queue for a request that was refused, which wants that many permits, or else leave it. Of the
-- permits that are left the next one is told: of a refused request the next behind the candidate, for the queue does not say how many
-- permits a large request wants, and two of these would tell each other of the same permits for ever.
local function wait(wanted, left)
  if ARGV[5] == KEYS[#KEYS] then
    if wanted then
      stand(ARGV[5], ARGV[6], wanted, ARGV[7])
    else
      redis.pcall('zrem', ARGV[5], ARGV[6])
    end
    if left > 0 then
      tell(ARGV[3], ARGV[4], ARGV[5], left, wanted and ARGV[6])
    end
  end
end
