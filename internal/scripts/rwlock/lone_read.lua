-- lone_read takes for reading what is free and wanted by no other. It is joined in front of acquire_read, whose keys
-- and arguments these are, ahead of the preludes: an execution makes each of their functions anew, which is a tenth of what
-- a lone reader costs.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[2]  list of our readers
-- KEYS[3]  record of strangers
-- KEYS[4]  announcements of waiting writers
-- KEYS[5]  the owner's first marker
-- ARGV[1]  owner
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  field of the write hold within which this is asked; empty: none
--
-- Answers -3, or nothing when there is more to do.

if ARGV[3] == '' and redis.call('exists', KEYS[1], KEYS[2], KEYS[3], KEYS[4]) == 0 then
  redis.call('hset', KEYS[1], 'mode', 'read', ARGV[1], '1')
  local lasts = redis.pcall('pexpire', KEYS[1], ARGV[2])
  if type(lasts) == 'table' then -- refused, and a lock must not stay that has no TTL
    redis.call('hdel', KEYS[1], 'mode', ARGV[1])
    error('nothing was changed: ' .. lasts.err, 0)
  end
  redis.call('set', KEYS[5], '1', 'px', ARGV[2])
  redis.call('zadd', KEYS[2], '0', ARGV[1])
  redis.call('pexpire', KEYS[2], ARGV[2])
  return -3
end
