-- delete removes the semaphore and its permits. It follows the preludes lane and permits.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- KEYS[3]  permits taken
-- ARGV[1]  lane
-- ARGV[2]  sequence number
--
-- Answers 1, or 0 when there is neither.

if redis.call('exists', KEYS[1], KEYS[3]) == 0 then
  return replica() or 0
end
return (change(true, '1', 'del', KEYS[1], KEYS[3]))
