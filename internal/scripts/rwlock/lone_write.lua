-- lone_write takes for writing what is free and left nothing behind. It is joined in front of acquire_write, whose keys
-- and arguments these are, ahead of the preludes.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[2]  list of our readers
-- KEYS[3]  record of strangers
-- KEYS[4]  announcements of waiting writers
-- ARGV[1]  field of the write holds
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  session that announces its wait
-- ARGV[4]  milliseconds for which a refusal is announced to readers; 0 for not
--
-- Answers -3, or nothing when there is more to do.

if redis.call('exists', KEYS[1], KEYS[2], KEYS[3], KEYS[4]) == 0 then
  redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], '1')
  local lasts = redis.pcall('pexpire', KEYS[1], ARGV[2])
  if type(lasts) == 'table' then -- refused, and a lock must not stay that has no TTL
    redis.call('hdel', KEYS[1], 'mode', ARGV[1])
    error('nothing was changed: ' .. lasts.err, 0)
  end
  return -3
end
