-- expire sets the TTL of the semaphore. It follows the preludes lane and value.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  TTL in milliseconds, 1 or more
--
-- Answers 1, or 0 when there is no semaphore.

if not value then
  return replica() or '0'
end
return (change(true, '1', 'pexpire', KEYS[1], ARGV[3]))
