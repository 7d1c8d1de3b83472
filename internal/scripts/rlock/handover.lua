-- handover ends all holds of an owner and takes the lock for a fresh one, without its ever being free.
--
-- KEYS[1]  lock hash: field = owner, value = holds
-- ARGV[1]  owner who gives
-- ARGV[2]  owner who is given
-- ARGV[3]  the latter's lease in milliseconds
--
-- Answers -3 when the latter holds the lock, by this execution or by an earlier one of the same command; else -1: the
-- former had lost it.
--
-- PEXPIRE is the first write because it is allowed on a server that is out of memory, and after it the others are. The key is
-- never gone: while the slot leaves this server it could not be made here again.

if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[3])
  redis.call('hset', KEYS[1], ARGV[2], '1')
  redis.call('hdel', KEYS[1], ARGV[1])
  return -3
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  return -3
end
return -1
