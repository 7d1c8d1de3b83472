-- set makes the number of permits, available and taken, what it is told, and wakes the waiters.
-- KEYS[1-3]  semaphore: permits available; lanes of the session; permits taken; ARGV[1-2]  see once
-- ARGV[3-6]  permits; PUBLISH or SPUBLISH, wake channel, row
--
-- Answers 1 when that changed the number, 0 when not. Publishes the new number if it changed and is above 0, as
-- Redisson does. Of fewer permits than are taken some are owed: then fewer than 0 are available.

local wanted = tonumber(ARGV[3])
local changed = available and wanted - redis.call('zcard', KEYS[3]) - available
if changed == 0 then
  return replica() or 0
end
change(false, '1')
if available then
  available = available + changed
  write(false, 'incrby', KEYS[1], whole(changed))
else
  make(wanted, '0')
end
if wanted > 0 then
  announce(ARGV[4], ARGV[5], ARGV[6], whole(wanted), available)
end
return 1
