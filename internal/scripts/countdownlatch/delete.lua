-- delete removes the latch, which opens it. It follows the preludes lane and value.
--
-- KEYS[1]  latch: what is still to be counted
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  PUBLISH or SPUBLISH
-- ARGV[4]  wake channel
--
-- Answers 1, or 0 when there is no latch.

if not value then
  return '0'
end
redis.call('del', KEYS[1])
settle('1')
redis.pcall(ARGV[3], ARGV[4], '0')
return '1'
