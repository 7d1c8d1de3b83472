-- queue has the processes that wait for the lock stand in the process queue, and tells them in their order that they can have it.
-- It is a prelude, joined behind strangers. A script that says nothing of the queue sends its message to all.
-- KEYS[i]      process queue: sorted set of candidate = its place, a moment in milliseconds, times span, plus what its head wants:
--              1 to read, span - 1 to write; negative: it was told
-- KEYS[i + 1]  announcements of waiting writers
-- ARGV[#ARGV - 4]  candidate; empty: none
-- ARGV[#ARGV - 3]  for how many milliseconds its process is known to be there
-- ARGV[#ARGV - 2]  what its head wants
-- ARGV[#ARGV - 1]  the name of KEYS[i], which a user without the right to it does not declare; empty: there is no queue
-- ARGV[#ARGV]      i
--
-- Answers of its functions are said at each. What the queue alone needs may be refused.
--
-- A candidate that was told keeps its place until its process has asked. The lock is free, or is read, and others may have it
-- before. So one that is told in vain, because its process is gone or the message is lost, bars none of those behind it.

local span = 1024
local abandoned = 600000
local at = tonumber(ARGV[#ARGV])
local row, announced = ARGV[#ARGV - 1], KEYS[at + 1]
if KEYS[at] ~= row then
  row = nil
end

-- tell tells the first that can have the lock as it is now: one that writes, or those that read and stand
-- before the next that writes. While a writer is announced readers are passed over. Of a lock that is free
-- while outsiders are announced none is told. A process that is gone leaves the queue.
--
-- It has two answers. The first is whether a process was told, or the first of the queue is a writer that waits
-- for those that read. The second is whether that process writes, or a writer stands behind the readers that
-- were told.
local function tell(publish, channel)
  local told, listeners = false, publish == 'SPUBLISH' and 'shardnumsub' or 'numsub'
  local mode = redis.call('hget', lock, 'mode')
  local latest = redis.pcall('zrange', announced, -1, -1, 'withscores')
  local prefers = latest[2] and tonumber(latest[2]) > clock()
  if prefers and not mode and latest[1] == 'outsiders' then
    return told, false
  end
  local first = redis.pcall('zrange', row, 0, 'inf', 'byscore', 'limit', 0, 64, 'withscores')
  for i = 1, mode == 'write' and 0 or #first, 2 do
    local candidate, score = first[i], tonumber(first[i + 1])
    local reads, own = score % span == 1, row .. ':' .. string.match(candidate, '^[^:]*')
    if not reads and told then
      return true, true
    elseif not (reads and prefers) then
      local count = redis.pcall('pubsub', listeners, own)
      if count.err then
        return told, false
      elseif tonumber(count[2]) == 0 then
        redis.pcall('zrem', row, candidate)
      elseif not reads and mode then
        return true, true
      elseif type(redis.pcall(publish, own, candidate .. ' ' .. whole(clock()))) ~= 'number' then
        return told, false
      else
        redis.pcall('zadd', row, whole(-score), candidate)
        told = true
        if not reads then
          return true, true
        end
      end
    end
  end
  return told, false
end

-- wake is called when processes that wait can have the lock. Where tell has found a process the message on the wake channel is for the
-- others that listen there, if there are any, and begins with a zero; else it is for all. It answers as tell does.
local function wake(publish, channel, message)
  local known, writes = false, false
  if row then
    known, writes = tell(publish, channel)
  end
  local count = known and redis.pcall('pubsub', publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', channel, row .. ':known')
  if not known then
    redis.call(publish, channel, message)
  elseif count.err or tonumber(count[2]) > tonumber(count[4]) then
    redis.call(publish, channel, '0' .. message)
  end
  return known, writes
end

-- stand has the candidate stand in the queue: in the place that it has, or behind the others.
local function stand()
  local score = redis.pcall('zscore', row, ARGV[#ARGV - 4])
  local place = type(score) == 'string' and math.floor(math.abs(tonumber(score)) / span) or clock()
  redis.pcall('zadd', row, whole(place * span + ARGV[#ARGV - 2]), ARGV[#ARGV - 4])
  local lasts = redis.pcall('pttl', row)
  if type(lasts) == 'number' and lasts * 4 < ARGV[#ARGV - 3] * 3 then
    redis.pcall('pexpire', row, ARGV[#ARGV - 3])
    -- One that was told asks at once. Where it came long ago and has not asked yet, its process is gone, or it goes to the end.
    redis.pcall('zremrangebyscore', row, whole((abandoned - clock()) * span), '(0')
  end
end

-- depart takes a candidate out of the queue, whose process has the lock or no waiter any more. Those behind it can have the lock
-- where the candidate was told, or wanted to write while others read.
local function depart(candidate, publish, channel)
  redis.pcall('zrem', row, candidate)
  if publish ~= '' then
    tell(publish, channel)
  end
end

-- hand_on is for a holder that has left the lock. freed says whether it is free then, or read instead of written. It answers 3 when
-- others were told or are about to be: then the candidate stands behind them, and is told with them if it only reads as they do. Else
-- it answers 1, and does not stand.
local function hand_on(publish, channel, message, freed)
  local known, writes, reads, candidate = false, false, ARGV[#ARGV - 2] == '1', ARGV[#ARGV - 4]
  local stands = row and publish ~= '' and candidate ~= ''
    and redis.call('hexists', lock, candidate) + redis.call('hexists', lock, candidate .. ':write') == 0 -- its head may have asked since
  if stands then
    redis.pcall('zrem', row, candidate)
  end
  if freed and publish ~= '' then
    known, writes = wake(publish, channel, message)
  elseif stands then
    known, writes = tell(publish, channel)
    known = known or not reads -- the last of the readers tells it
  end
  if stands and known then
    stand()
    if reads and not writes then
      tell(publish, channel)
    end
  end
  return known and 3 or 1
end
