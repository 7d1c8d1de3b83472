-- release_if_exists gives back permits to a semaphore that exists and wakes the waiters. It follows the preludes lane and announce.
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
-- Answers 1, or 0 when there is no semaphore. Publishes the new total if it is above 0.

if redis.call('exists', KEYS[1]) == 0 then
  return replica() or '0'
end
local _, total = change(true, '1', 'incrby', KEYS[1], ARGV[3])
total = decimal(total)
if tonumber(total) > 0 then
  announce(ARGV[4], ARGV[5], ARGV[6], total, tonumber(total))
end
return '1'
