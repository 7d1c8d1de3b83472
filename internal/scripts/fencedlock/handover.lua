-- handover ends all holds of an owner, takes the lock for a fresh one without its ever being free, and issues the next
-- token. It follows the preludes issue and own.
--
-- KEYS[1]  lock hash: field = owner, value = holds
-- KEYS[2]  token: a string, the token issued last; no TTL
-- ARGV[1]  owner who gives
-- ARGV[2]  owner who is given
-- ARGV[3]  the latter's lease in milliseconds
--
-- Answers {1, token as text} when the latter holds the lock, by this execution or by an earlier one of the same command;
-- else {0, -1}: the former had lost it.

if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  local token = issue() -- first of the writes, for it is the one that can be refused
  if type(token) == 'table' then
    return token
  end
  redis.call('hdel', KEYS[1], ARGV[1])
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('pexpire', KEYS[1], ARGV[3])
  return {1, token}
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {0, -1}
end
return {1, own()}
