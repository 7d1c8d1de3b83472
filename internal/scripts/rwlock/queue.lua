-- queue tells the processes that wait for the lock in their order that they can have it. It is a prelude behind strangers and told. A
-- script that says nothing of the queue sends its message to all.
-- KEYS[i]      process queue, see told; a candidate wants 1 to read, span - 1 to write
-- KEYS[i + 1]  announcements of waiting writers
-- ARGV[#ARGV - 4]  candidate; empty: none
-- ARGV[#ARGV - 3]  for how many milliseconds its process is known to be there
-- ARGV[#ARGV - 2]  what its head wants
-- ARGV[#ARGV - 1]  the name of KEYS[i], which a user without the right to it does not declare; empty: there is no queue
-- ARGV[#ARGV]      i

local at = tonumber(ARGV[#ARGV])
local row, announced = ARGV[#ARGV - 1], KEYS[at + 1]
if KEYS[at] ~= row then
  row = nil
end

-- tell tells the first that can have the lock as it is now: one that writes, or those that read and stand
-- before the next that writes. While a writer is announced readers are passed over. Of a lock that is free
-- while outsiders are announced none is told. A process that is gone leaves the queue.
--
-- It has three answers. The first is whether a process was told, or the first of the queue is a writer that waits
-- for those that read. The second is whether that process writes, or a writer stands behind the readers that
-- were told. The third is whether more listen to the wake channel than processes that know the queue.
local function tell(publish, channel)
  local told, others = false, true
  local mode = redis.call('hget', lock, 'mode')
  local latest = redis.pcall('zrange', announced, -1, -1, 'withscores')
  local prefers = latest[2] and tonumber(latest[2]) > clock()
  if prefers and not mode and latest[1] == 'outsiders' then
    return told, false, others
  end
  local first = redis.pcall('zrange', row, '0', 'inf', 'byscore', 'limit', '0', '64', 'withscores')
  for i = 1, mode == 'write' and 0 or #first, 2 do
    local candidate, score, outcome = first[i], tonumber(first[i + 1]), nil
    local reads = score % span == 1
    if not reads and told then
      return true, true, others
    elseif not (reads and prefers) then
      outcome, others = call(publish, channel, row, candidate, (reads or not mode) and score)
      if outcome == 'unknown' then
        break
      elseif outcome == 'there' and not reads then
        return true, true, others
      end
      told = told or outcome == 'there'
    end
  end
  return told, false, others
end

-- wake is called when processes that wait can have the lock. Where tell has found a process the message on the wake channel is for the
-- others that listen there, if there are any, and begins with a zero; else it is for all. It answers as tell does.
local function wake(publish, channel, message)
  local known, writes, others = false, false, true
  if row then
    known, writes, others = tell(publish, channel)
  end
  if others or not known then
    redis.call(publish, channel, known and '0' .. message or message)
  end
  return known, writes
end

-- depart takes a candidate out of the queue, whose process has the lock or no waiter any more. Those behind it can have the lock
-- where the candidate was told, or wanted to write while others read.
local function depart(candidate, publish, channel)
  redis.pcall('zrem', row, candidate)
  if publish ~= '' then
    tell(publish, channel)
  end
end

-- hand_on is for a holder that has left the lock. freed says whether it is free then, or read instead of written. It answers 4 when
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
    stand(row, candidate, ARGV[#ARGV - 2], ARGV[#ARGV - 3])
    if reads and not writes then
      tell(publish, channel)
    end
  end
  return known and 4 or 1
end
