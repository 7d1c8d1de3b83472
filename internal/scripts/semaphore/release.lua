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
--
-- Answers the new total, which is published too if it is above 0.

local total = decimal(insist('incrby', KEYS[1], ARGV[3]))
local answer = settle(total)
if tonumber(total) > 0 then
  announce(ARGV[4], ARGV[5], ARGV[6], total, tonumber(total))
end
return answer
