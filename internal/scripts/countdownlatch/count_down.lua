-- count_down takes one from the count and opens the latch at zero. It follows the preludes lane and value.
--
-- KEYS[1]  latch: what is still to be counted
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  PUBLISH or SPUBLISH
-- ARGV[4]  wake channel
--
-- Answers what remains, 0 when the latch is open.
--
-- A stored count of 0 or less is of another program's making and counts as open: it is removed without a message.

if not value then
  return 0
end
if tonumber(value) > 1 then
  return settle(decimal(insist('decr', KEYS[1])))
end
redis.call('del', KEYS[1])
settle('0')
if tonumber(value) == 1 then
  redis.pcall(ARGV[3], ARGV[4], '0')
end
return 0
