-- expire sets the TTL of the semaphore and its permits. It follows the preludes lane and permits.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- KEYS[3]  permits taken
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  TTL in milliseconds, 1 or more
--
-- Answers 1, or 0 when there is no semaphore.

if not available then
  return replica() or 0
end
change(true, '1', 'pexpire', KEYS[1], ARGV[3])
redis.call('pexpire', KEYS[3], ARGV[3])
return 1
