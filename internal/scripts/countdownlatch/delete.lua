-- delete removes the latch, which opens it. It follows the preludes lane, value and rounds.
--
-- KEYS[1]  latch: what is still to be counted
-- KEYS[2]  lanes of the session
-- KEYS[3]  record of the latch
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  PUBLISH or SPUBLISH
-- ARGV[4]  wake channel
--
-- Answers 1, or 0 when there is no latch.

if not value then
  return replica() or '0'
end
recall()
finish('deleted', '1')
redis.pcall(ARGV[3], ARGV[4], '0')
return '1'
