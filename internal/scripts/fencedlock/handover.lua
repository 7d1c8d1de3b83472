-- handover ends all holds of an owner, takes the lock for a fresh one without its ever being free, and issues tokens, with
-- which that one can hand the lock on by itself. It follows the preludes issue and own.
--
-- KEYS[1]  lock hash: field = owner, value = holds
-- KEYS[2]  token: a string, the token issued last; no TTL
-- ARGV[1]  owner who gives
-- ARGV[2]  owner who is given
-- ARGV[3]  the latter's lease in milliseconds
-- ARGV[4]  how many tokens
-- ARGV[5]  the least that the last of them may be: so many above the tokens of the owner who gives
--
-- Answers {1, last of the tokens as text, their number} when the latter holds the lock, by this execution or by an earlier
-- one of the same command; else {0, -1, 0}: the former had lost it.

if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  local token = issue(ARGV[4]) -- first of the writes, for it is the one that can be refused
  if type(token) == 'table' then
    return token
  end
  redis.call('hset', KEYS[1], ARGV[2], '1') -- first, for while the slot leaves this server a key that is gone cannot be made again
  redis.call('hdel', KEYS[1], ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[3])
elseif redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {0, -1, 0}
end
return {1, own(ARGV[5]), ARGV[4]}
