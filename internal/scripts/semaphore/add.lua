-- add changes the number of permits and wakes the waiters.
-- KEYS[1-2]  semaphore: permits available; lanes of the session; ARGV[1-2]  see once
-- ARGV[3-6]  permits to add, negative to take away; PUBLISH or SPUBLISH, wake channel, row
--
-- Answers the new total, which is published too if it is above 0.
--
-- A server that is out of memory may refuse it: unlike release it gives back nothing that is in use.

if not stored then -- a semaphore that it creates could not be taken back wholly, so what may be refused comes first
  change(false, '0')
end
local total = decimal(write(false, 'incrby', KEYS[1], ARGV[3]))
settle(total, 'incrby', KEYS[1], (string.gsub('-' .. ARGV[3], '^%-%-', '')))
if tonumber(total) > 0 then
  announce(ARGV[4], ARGV[5], ARGV[6], total, tonumber(total))
end
return total
