-- swap has permits go from one holder to another of the same process, under fresh ids, unless anybody else waits. It follows
-- the preludes announce, others and permits.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  permits taken
-- ARGV[1]  PUBLISH or SPUBLISH
-- ARGV[2]  wake channel
-- ARGV[3]  row
-- ARGV[4]  session; empty where it is not to be asked whether anybody else waits
-- ARGV[5]  lease of the fresh ids in milliseconds, -1 for none
-- ARGV[6]  number of the ids
-- ARGV[i]  from 7 on: the ids; ARGV[count + i]: as many fresh ones
--
-- Answers 1 when the fresh ids are there, and 3 then where it was not asked who waits. Else those of the old ids that were there
-- are given back, as by give_back. The answer is 2 when somebody listens who is not known to be of this library, -1 when some
-- ids were not there, -2 when none was, or there is no semaphore, and 0 for another reason: another process waits, or there are
-- fewer permits than none.
--
-- It needs no lane: an id is never used again, so a second execution finds the fresh ids, or nothing.

local expired = reclaim()
local count = tonumber(ARGV[6])

local function there(from)
  local found = 0
  for i = from, from + count - 1 do
    found = found + (redis.call('zscore', taken, ARGV[i]) and 1 or 0)
  end
  return found
end

local had, answer, removed = there(7), 0, 0
if not available then
  answer = -2
elseif had < count then
  answer = had > 0 and -1 or there(7 + count) == count and 1 or -2
elseif available >= 0 then
  answer = ARGV[4] == '' and 1 or tonumber(others(ARGV[1], ARGV[2], ARGV[3], ARGV[4]))
end
if answer ~= 1 then
  removed = giveBack(7)
elseif had == count then
  redis.call('zrem', taken, '') -- a server that is out of memory lets pass what follows it
  local ends = deadline(tonumber(ARGV[5]))
  for i = 7, 6 + count do
    redis.call('zadd', taken, ends, ARGV[count + i]) -- first, so that the key stays, and its TTL
    redis.call('zrem', taken, ARGV[i])
  end
end
offer(ARGV[1], ARGV[2], ARGV[3], (removed == 1 or expired > 0) and (available or 0) or removed)
return answer == 1 and ARGV[4] == '' and 3 or answer
