-- add changes the number of permits and wakes the waiters.
-- KEYS[1-3]  semaphore: permits available; lanes of the session; permits taken; ARGV[1-2]  see once
-- ARGV[3-6]  permits to add, negative to take away; PUBLISH or SPUBLISH, wake channel, row
--
-- Answers the new number, available and taken. Publishes the number added if above 0 and some are available. A
-- semaphore that does not exist is made.

local more = tonumber(ARGV[3])
local total = whole(available and available + redis.call('zcard', KEYS[3]) + more or more)
change(false, total)
if available then
  available = available + more
  write(false, 'incrby', KEYS[1], whole(more))
else
  make(more, '0')
end
offer(ARGV[4], ARGV[5], ARGV[6], more)
return total
