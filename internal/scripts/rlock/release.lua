-- release ends all holds of an owner and wakes the waiters.
-- KEYS[1]  lock hash: field = owner, value = holds
-- ARGV[1-3]  owner; PUBLISH or SPUBLISH, empty for no message; wake channel
--
-- Answers 1, or 0 when the owner holds nothing.

if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if ARGV[2] ~= '' then
  redis.call(ARGV[2], ARGV[3], '0')
end
return 1
