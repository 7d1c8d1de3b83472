-- release_read ends all read holds of an owner and wakes the waiters when it was the last reader known to be alive.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[i]  the owner's marker i-1, for i = 2 to one more than the most holds it ever had
-- ARGV[1]  owner
-- ARGV[2]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]  wake channel
-- ARGV[4]  stem of all markers of the lock, without the colon after it
--
-- Answers 1, or 0 when the owner did not read.
--
-- The lock lasts from now on as long as the longest promise among the readers who are alive; the dead are dropped. Where
-- only readers without marker are left the waiters are woken too, to learn how long these may last. In write mode
-- nothing else is touched: the TTL is the writer's.
--
-- HDEL is the first write because it is allowed on a server that is out of memory.

local held = redis.call('hdel', KEYS[1], ARGV[1])
for i = 2, #KEYS do
  redis.call('del', KEYS[i])
end
if held == 0 then
  return 0
end
if redis.call('hget', KEYS[1], 'mode') ~= 'read' then
  return 1
end
local found = survey(KEYS[1], ARGV[4])
if found.longest == 0 then
  free(KEYS[1])
else
  drop(KEYS[1], found.dead)
  if found.longest > 0 then
    redis.call('pexpire', KEYS[1], string.format('%.0f', found.longest))
  end
  if found.unmarked > 0 then
    note(KEYS[1])
  end
end
if found.marked == 0 and ARGV[2] ~= '' then
  redis.call(ARGV[2], ARGV[3], '0')
end
return 1
