-- release_if_exists gives back permits to a semaphore that exists and wakes the waiters. It follows the prelude lane.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  permits to give back
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  wake channel
--
-- Answers 1, or 0 when there is no semaphore. Publishes the new total if it is above 0.

if redis.call('exists', KEYS[1]) == 0 then
  return '0'
end
local total = decimal(insist('incrby', KEYS[1], ARGV[3]))
settle('1')
if tonumber(total) > 0 then
  redis.pcall(ARGV[4], ARGV[5], total)
end
return '1'
