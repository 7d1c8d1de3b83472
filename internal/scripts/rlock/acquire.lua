-- acquire takes the lock for a fresh owner if it is free.
-- KEYS[1]    lock hash: field = owner, value = holds
-- ARGV[1-2]  owner; lease in milliseconds
--
-- Answers -3 when the owner holds the lock, by this execution or by an earlier one of the same command; else the
-- milliseconds that the holder's lease still lasts, 0 or more, or -1 when the key has no TTL.

local remaining = redis.call('pttl', KEYS[1])
if remaining == -2 then -- no such key
  redis.call('hset', KEYS[1], ARGV[1], '1')
  local lasts = redis.pcall('pexpire', KEYS[1], ARGV[2])
  if type(lasts) == 'table' then -- as the prelude take, of which a lone caller would feel the function
    redis.call('hdel', KEYS[1], ARGV[1])
    error('nothing was changed: ' .. lasts.err, 0)
  end
  return -3
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  return -3
end
return remaining
