-- acquire_read takes the lock for reading for a fresh owner, if no other owner holds it for writing.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[4]    announcements of waiting writers: sorted set of session = deadline by the server's clock in milliseconds
-- KEYS[5]    the owner's first marker
-- ARGV[1-2]  owner; lease in milliseconds
-- ARGV[3]    field of the write hold within which this is asked; empty: none
-- ARGV[4]    of the head of a local queue, in stand: PUBLISH or SPUBLISH; ARGV[5] is the wake channel then
--
-- Answers -3 when the owner holds the lock, by this execution or by an earlier one of the same command; else
-- the milliseconds after which to ask again: what the writer's lease still lasts, -1 when the key has no TTL,
-- or the time until the last announcement of a writer is over, or that of outsiders, which for a head is -4,
-- less those milliseconds. Within a write hold every other answer than -3 says that the write hold is gone.

local mode = redis.call('hget', lock, 'mode')
if redis.call('hexists', lock, ARGV[1]) == 1 then
  return -3
end
if ARGV[3] ~= '' then
  if redis.call('hexists', lock, ARGV[3]) == 0 then
    return -1
  end
elseif mode == 'write' then
  return redis.call('pttl', lock)
else
  if not mode and redis.call('exists', lock) == 1 then
    return redis.error_reply('WRONGTYPE the key is a lock of another kind, not a read-write lock; use another name')
  end
  local latest = redis.call('zrange', KEYS[4], -2, -1, 'withscores')
  for i = #latest, 2, -2 do
    local rest = tonumber(latest[i]) - clock()
    if rest > 0 and latest[i - 1] ~= 'outsiders' then
      return rest
    end
  end
  local rest = latest[1] and left(KEYS[4], not mode, ARGV[4], ARGV[5], ARGV[5] and row) or 0
  if rest > 0 then
    return ARGV[5] and -4 - rest or rest
  end
end
disown()
if mode then
  redis.call('hset', lock, ARGV[1], '1')
else
  take(KEYS[1], ARGV[1], ARGV[2], 'mode', 'read')
end
redis.call('set', KEYS[5], '1', 'px', ARGV[2])
if mode then
  lengthen(tonumber(ARGV[2]))
end
enter(ARGV[1], tonumber(ARGV[2]))
return -3
