-- force deletes a lock whichever owner holds it, and wakes the waiters.
-- KEYS[1]  lock hash: field = owner, value = holds
-- ARGV[1-2]  PUBLISH or SPUBLISH, empty for no message; wake channel
--
-- Answers 1, or 0 when no owner held the lock. HLEN refuses a key that is not a hash before anything is deleted.

if redis.call('hlen', KEYS[1]) == 0 then
  return 0
end
redis.call('del', KEYS[1])
if ARGV[1] ~= '' then
  redis.pcall(ARGV[1], ARGV[2], '0') -- refused to a user who may not publish: the waiters poll
end
return 1
