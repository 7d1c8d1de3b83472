-- handover ends all holds of an owner and takes the lock for a fresh one, without its ever being free.
-- KEYS[1-2]  lock hash: field = owner, value = holds; token, for issue and own
-- ARGV[1-3]  owner who gives; owner who is given; the latter's lease in milliseconds
-- ARGV[4]    how many tokens it is issued, with which it can hand the lock on by itself
-- ARGV[5]    the least that the last of them may be: so many above the tokens of the owner who gives
--
-- Answers {1, last of the tokens as text, their number} when the latter holds the lock, by this execution or by an
-- earlier one of the same command; else {0, '0', 0}: the former had lost it.
-- The key is never gone: while the slot leaves this server it could not be made here again.

if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  local token = issue(ARGV[4]) -- first of the writes, for it is the one that can be refused
  if type(token) == 'table' then
    return token
  end
  redis.call('pexpire', KEYS[1], ARGV[3]) -- a server that is out of memory lets it pass, and then what follows
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('hdel', KEYS[1], ARGV[1])
elseif redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {0, '0', 0}
end
return {1, own(ARGV[5]), ARGV[4]}
