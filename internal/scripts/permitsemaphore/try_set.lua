-- try_set sets the number of permits of a semaphore that does not exist and wakes the waiters.
-- KEYS[1-3]  semaphore: permits available; lanes of the session; permits taken; ARGV[1-2]  see once
-- ARGV[3-6]  permits; PUBLISH or SPUBLISH, wake channel, row
-- ARGV[7]    TTL in milliseconds, 0 for none
--
-- Answers 1, or 0 when there is a semaphore, one of 0 permits included. Publishes the permits available if above 0.

if available then
  return replica() or 0
end
change(false, '1')
make(tonumber(ARGV[3]), ARGV[7])
offer(ARGV[4], ARGV[5], ARGV[6], available)
return 1
