-- release gives back permits, creating the semaphore if need be, and wakes the waiters. It follows the preludes lane and announce.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  permits to give back
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  wake channel
-- ARGV[6]  row
-- ARGV[7]  given where it settles the operation before it in its lane, a keep: the answer with which that kept the permits
--
-- Answers the new total, which is published too if it is above 0; to one that settles, what a keep answered that gave back
-- the permits itself.

if ARGV[7] and settled == sequence - 1 and answer ~= ARGV[7] then
  return settle(answer)
end
if not stored then -- a semaphore that it creates could not be taken back wholly, so what may be refused comes first
  change(true, '0')
end
local total = decimal(write(true, 'incrby', KEYS[1], ARGV[3]))
answer = settle(total, 'incrby', KEYS[1], '-' .. ARGV[3])
if tonumber(total) > 0 then
  announce(ARGV[4], ARGV[5], ARGV[6], total, tonumber(total))
end
return answer
