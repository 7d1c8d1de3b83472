-- try_set sets the number of permits of a semaphore that does not exist and wakes the waiters. It follows the preludes
-- lane, announce and permits.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- KEYS[3]  permits taken
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  permits
-- ARGV[4]  TTL in milliseconds, 0 for none
-- ARGV[5]  PUBLISH or SPUBLISH
-- ARGV[6]  wake channel
-- ARGV[7]  row
--
-- Answers 1, or 0 when there is a semaphore, one of 0 permits included. Publishes the permits available if above 0.
--
-- Permits that outlived an earlier semaphore of the name count as taken from this one, to which they return.

if available then
  return replica() or 0
end
available = tonumber(ARGV[3]) - redis.call('zcard', KEYS[3])
change(false, '1')
if ARGV[4] == '0' then
  write(false, 'persist', KEYS[3])
  write(false, 'set', KEYS[1], whole(available))
else
  write(false, 'pexpire', KEYS[3], ARGV[4])
  write(false, 'set', KEYS[1], whole(available), 'px', ARGV[4])
end
offer(ARGV[5], ARGV[6], ARGV[7], available)
return 1
