-- try_set sets the permits of a semaphore that does not exist and wakes the waiters.
-- KEYS[1-2]  semaphore: permits available; lanes of the session; ARGV[1-2]  see once
-- ARGV[3-6]  permits; PUBLISH or SPUBLISH, wake channel; row
-- ARGV[i]    from 7 on the options of SET: px and the TTL in milliseconds, or none
--
-- Answers 1, or 0 when there is a semaphore, one of 0 permits included. Publishes the permits if above 0.

if value then
  return replica() or '0'
end
change(false, '1', 'set', KEYS[1], ARGV[3], unpack(ARGV, 7))
if tonumber(ARGV[3]) > 0 then
  announce(ARGV[4], ARGV[5], ARGV[6], ARGV[3], tonumber(ARGV[3]))
end
return '1'
