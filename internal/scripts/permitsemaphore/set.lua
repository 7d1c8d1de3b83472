-- set makes the number of permits, available and taken, what it is told, and wakes the waiters. It follows the preludes
-- lane, announce and permits.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- KEYS[3]  permits taken
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  permits
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  wake channel
-- ARGV[6]  row
--
-- Answers 1 when that changed the number, 0 when not. Publishes the new number if it changed and is above 0, as
-- Redisson does. Of fewer permits than are taken some are owed: then fewer than 0 are available.

local wanted = tonumber(ARGV[3])
local before = available
local changed = wanted - redis.call('zcard', KEYS[3]) - (before or 0)
if before and changed == 0 then
  return replica() or 0
end
change(false, '1')
if before then
  available = before + changed
  write(false, 'incrby', KEYS[1], whole(changed))
else
  available = changed
  write(false, 'persist', KEYS[3])
  write(false, 'set', KEYS[1], whole(available))
end
if wanted > 0 then
  announce(ARGV[4], ARGV[5], ARGV[6], whole(wanted), available)
end
return 1
