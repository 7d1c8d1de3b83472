-- acquire takes permits if enough are available. It follows the preludes lane and value.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  permits wanted
--
-- Answers 1 when they were taken, 0 when not.

if not value or tonumber(value) < tonumber(ARGV[3]) then
  return '0'
end
redis.call('decrby', KEYS[1], ARGV[3])
return settle('1')
