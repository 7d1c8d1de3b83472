-- swap has permits go from one holder to another of the same process, under fresh ids, unless another process waits.
-- KEYS[1-2]  semaphore: permits available; permits taken
-- ARGV[1-3]  PUBLISH or SPUBLISH, wake channel, row
-- ARGV[4]    session; empty where it is not to be asked whether another process waits
-- ARGV[5-6]  lease of the fresh ids in milliseconds, -1 for none; number of the ids
-- ARGV[i]    from 7 on: the ids; ARGV[count + i]: as many fresh ones
--
-- Answers 1 when the fresh ids are there, and 3 then where it was not asked who waits: of those whose old ids were there. Else
-- these are given back, as by give_back. The answer is 2 when a connection listens that is not known to be of this library, -2 when none
-- of the old ids was there, or there is no semaphore, and 0 for another reason: another process waits, or there are fewer
-- permits than none. Of several ids, the answer is an array: that number, and for each id 1 if it was there, else 0.
--
-- It needs no lane: an id is never used again, so a second execution finds the fresh ids, or nothing.

local expired = reclaim()
local count = tonumber(ARGV[6])
local had, before, removed, answers = 0, 0, 0, {-2}
for i = 7, 6 + count do
  answers[i - 5] = available and redis.call('zscore', taken, ARGV[i]) and 1 or 0
  had = had + answers[i - 5]
end
for i = 7, had == 0 and available and 6 + count or 0 do -- an earlier execution
  answers[i - 5] = redis.call('zscore', taken, ARGV[count + i]) and 1 or 0
  before = before + answers[i - 5]
end
if before > 0 then
  answers[1] = 1
elseif had > 0 then
  answers[1] = available < 0 and 0 or ARGV[4] == '' and 1 or tonumber(others(ARGV[1], ARGV[2], ARGV[3], ARGV[4]))
end
if answers[1] ~= 1 then
  removed = giveBack(7)
  if type(removed) == 'table' then
    error('nothing was changed: ' .. removed.err, 0)
  end
elseif had > 0 then
  redis.call('zrem', taken, '') -- for a server that is out of memory
  local ends = deadline(tonumber(ARGV[5]))
  for i = 7, 6 + count do
    if answers[i - 5] == 1 then
      redis.call('zadd', taken, ends, ARGV[count + i]) -- first, so that the key stays, and its TTL
      redis.call('zrem', taken, ARGV[i])
    end
  end
end
returned(ARGV[1], ARGV[2], ARGV[3], expired, removed)
if answers[1] == 1 and ARGV[4] == '' then
  answers[1] = 3
end
return count == 1 and answers[1] or answers
