-- add changes the number of permits and wakes the waiters. It follows the preludes lane, announce and
-- permits, and may follow size.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- KEYS[3]  permits taken
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  permits to add, negative to take away
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  wake channel
-- ARGV[6]  row
--
-- Answers the new number, available and taken. Publishes the number added if above 0 and some are available. A
-- semaphore that does not exist is made, and permits that outlived an earlier one count as taken from it.

local more = tonumber(ARGV[3])
local acquired = redis.call('zcard', KEYS[3])
local total = whole(available and available + acquired + more or more)
change(false, total)
if available then
  available = available + more
  write(false, 'incrby', KEYS[1], whole(more))
else
  available = more - acquired
  write(false, 'persist', KEYS[3])
  write(false, 'set', KEYS[1], whole(available))
end
offer(ARGV[4], ARGV[5], ARGV[6], more)
return total
