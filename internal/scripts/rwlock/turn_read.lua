-- turn_read ends all write holds of an owner and takes the lock for a fresh one for reading, without its ever being free.
-- KEYS[1]    lock hash: see strangers
-- KEYS[2-4]  list of our readers; record of strangers; first marker of the owner that is given
-- KEYS[i]    what the prelude queue is about
-- ARGV[1-2]  field of the write holds of the one that gives; PUBLISH or SPUBLISH, empty for no message
-- ARGV[3-6]  wake channel; message; owner that is given; the latter's lease in milliseconds
-- ARGV[7]    how many connections of this process listen to the wake channel
-- ARGV[i]    the last five, for queue
--
-- Answers -3 when the latter holds the lock, by this execution or by an earlier one of the same command; else -4: the former had
-- lost it.
--
-- Readers of other processes can come in, so the waiters are woken, if more listen than this process, or that
-- cannot be known.

if redis.call('hexists', lock, ARGV[5]) == 1 then
  return -3
end
if redis.call('hdel', lock, ARGV[1]) == 0 then
  return -4
end
disown()
local ttl = tonumber(ARGV[6])
redis.call('hset', lock, 'mode', 'read', ARGV[5], '1')
redis.call('set', KEYS[4], '1', 'px', whole(ttl))
enter(ARGV[5], ttl)
if redis.call('hlen', lock) > 2 then -- the writer reads on
  lengthen(ttl)
else
  outlast(ttl)
end
if ARGV[2] ~= '' and listeners(ARGV[2], ARGV[3]) > tonumber(ARGV[7]) then
  wake(ARGV[2], ARGV[3], ARGV[4])
end
return -3
