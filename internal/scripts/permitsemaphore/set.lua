-- set changes the number of permits, available and taken, and wakes the waiters.
-- KEYS[1-3]  semaphore: permits available; lanes of the session; permits taken; ARGV[1-2]  see once
-- ARGV[3-6]  permits; PUBLISH or SPUBLISH, wake channel, row
-- ARGV[7]    how: set makes that the number; try does so if there is no semaphore, and one of 0 permits is one; add adds it, or takes it
--            away if it is negative, and makes a semaphore that does not exist
-- ARGV[8]    TTL in milliseconds of a semaphore that is made, 0 for none
--
-- Answers 1, or to add the new number; to set and try 0 when nothing was changed. To set it publishes the new number if that is above 0; else,
-- if some are available, the number added, or of a semaphore that it has tried to make the permits available. Of fewer permits than are taken some are owed: then
-- fewer than 0 are available.

local total, how = available and available + redis.call('zcard', KEYS[3]), ARGV[7]
local wanted = tonumber(ARGV[3]) + (how == 'add' and total or 0)
if how == 'try' and total or how == 'set' and wanted == total then
  return replica() or 0
end
local answer = change(false, how == 'add' and whole(wanted) or '1')
if available then
  available = available + wanted - total
  write(false, 'incrby', KEYS[1], whole(wanted - total))
else
  make(wanted, ARGV[8])
end
if how ~= 'set' then
  offer(ARGV[4], ARGV[5], ARGV[6], how == 'try' and available or tonumber(ARGV[3]))
elseif wanted > 0 then -- also if none are available, as Redisson does
  announce(ARGV[4], ARGV[5], ARGV[6], whole(wanted), available)
end
return answer
