-- give_back releases the permits of one holder, whichever of them are there.
-- KEYS[1-2]  semaphore: permits available; permits taken
-- ARGV[1-3]  PUBLISH or SPUBLISH, wake channel, row
-- ARGV[i]    from 4 on: ids
--
-- Answers how many were there and had not expired; 0 when there is no semaphore. Publishes, of what it put back, the
-- new total if that was one permit, and the number of several, as Redisson does.
--
-- It needs no lane: an id is never used again, so a second execution finds nothing. Its first write is one that a
-- server accepts that is out of memory.

local expired = reclaim()
local removed = giveBack(4)
if type(removed) == 'table' then
  error('nothing was changed: ' .. removed.err, 0)
end
local back = expired + removed
offer(ARGV[1], ARGV[2], ARGV[3], (back == 1 or expired > 0) and (available or 0) or removed)
return available and removed or 0
