-- count_down takes some from the count and opens the latch at zero.
-- KEYS[1-3]  latch: what is still to be counted; lanes of the session; record of the latch
-- ARGV[1-5]  lane; sequence number; PUBLISH or SPUBLISH; wake channel; how many to take, 1 or more
--
-- Answers what remains, 0 when the latch is open. It never goes below zero, for Redisson's waiters hear of an open latch by the
-- message that is sent at zero.
--
-- A stored count of 0 or less is of another program's making and counts as open: it is removed without a message.

if not value then
  return replica() or 0
end
if tonumber(value) > tonumber(ARGV[5]) then
  return settle(decimal(write(true, 'decrby', KEYS[1], ARGV[5])), 'decrby', KEYS[1], '-' .. ARGV[5])
end
return finish('counted', '0')
