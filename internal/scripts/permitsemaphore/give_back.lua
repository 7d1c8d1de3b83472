-- give_back releases the permits of one holder, whichever of them are there.
-- KEYS[1-2]  semaphore: permits available; permits taken
-- ARGV[1-3]  PUBLISH or SPUBLISH, wake channel, row
-- ARGV[i]    from 4 on: ids
--
-- Answers how many were there and had not expired; 0 when there is no semaphore.
--
-- It needs no lane: an id is never used again, so a second execution finds nothing.

local expired = reclaim()
local removed = giveBack(4)
if type(removed) == 'table' then
  error('nothing was changed: ' .. removed.err, 0)
end
returned(ARGV[1], ARGV[2], ARGV[3], expired, removed)
return available and removed or 0
