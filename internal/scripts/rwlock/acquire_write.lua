-- acquire_write takes the lock for writing for a fresh owner, if nobody holds it.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[2]  announcements of waiting writers: sorted set of session = deadline by the server's clock in milliseconds
-- ARGV[1]  field of the write holds
-- ARGV[2]  lease in milliseconds
-- ARGV[3]  stem of all markers of the lock, without the colon after it
-- ARGV[4]  session that announces its wait
-- ARGV[5]  milliseconds for which a refusal is announced to readers; 0 for not
--
-- Answers -3 when the owner holds the lock, by this execution or by an earlier one of the same command; else the
-- milliseconds until the lease of the writer or the longest promise of a reader is over, or -1 when it has no end.
--
-- Readers whose promises are all over are dead: their fields are dropped, and do not keep a writer out however long
-- the hash would live on.

if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  return -3
end
local mode, remaining = redis.call('hget', KEYS[1], 'mode'), 0
if mode == 'read' then
  local found = survey(KEYS[1], ARGV[3])
  if found.longest == 0 then
    free(KEYS[1])
    mode = false
  else
    drop(KEYS[1], found.dead)
    remaining = found.longest
  end
elseif mode then
  remaining = redis.call('pttl', KEYS[1])
elseif redis.call('exists', KEYS[1]) == 1 then
  return redis.error_reply('WRONGTYPE the key is a lock of another kind, not a read-write lock; use another name')
end
if mode then
  if ARGV[5] ~= '0' then
    local time = redis.call('time')
    local deadline = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[5])
    redis.call('zadd', KEYS[2], string.format('%.0f', deadline), ARGV[4])
    if redis.call('pttl', KEYS[2]) < tonumber(ARGV[5]) then -- others may have announced themselves for longer
      redis.call('pexpire', KEYS[2], ARGV[5])
    end
  end
  return remaining
end
redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], '1')
redis.call('pexpire', KEYS[1], ARGV[2])
if ARGV[5] ~= '0' then
  redis.call('zrem', KEYS[2], ARGV[4])
end
return -3
