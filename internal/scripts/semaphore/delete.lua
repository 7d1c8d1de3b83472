-- delete removes the semaphore. It follows the preludes lane and value.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
--
-- Answers 1, or 0 when there is no semaphore.

if not value then
  return replica() or '0'
end
return (change(true, '1', 'del', KEYS[1]))
