-- try_set sets the permits of a semaphore that does not exist and wakes the waiters. It follows the preludes lane, value
-- and announce.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  permits
-- ARGV[4]  TTL in milliseconds, 0 for none
-- ARGV[5]  PUBLISH or SPUBLISH
-- ARGV[6]  wake channel
-- ARGV[7]  row
--
-- Answers 1, or 0 when there is a semaphore, one of 0 permits included. Publishes the permits if above 0.

if value then
  return replica() or '0'
end
if ARGV[4] == '0' then
  change(false, '1', 'set', KEYS[1], ARGV[3])
else
  change(false, '1', 'set', KEYS[1], ARGV[3], 'px', ARGV[4])
end
if tonumber(ARGV[3]) > 0 then
  announce(ARGV[5], ARGV[6], ARGV[7], ARGV[3], tonumber(ARGV[3]))
end
return '1'
