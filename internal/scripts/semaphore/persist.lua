-- persist removes the TTL of the semaphore. It follows the preludes lane and value.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
--
-- Answers 1, or 0 when there is no semaphore or it has no TTL.

if redis.call('pttl', KEYS[1]) < 0 then
  return replica() or '0'
end
return (change(true, '1', 'persist', KEYS[1]))
