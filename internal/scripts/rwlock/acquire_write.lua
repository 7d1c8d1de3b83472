-- acquire_write takes the lock for writing for a fresh owner, if no owner holds it.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[4]    announcements of waiting writers: sorted set of session = deadline by the server's clock in milliseconds
-- KEYS[i]    the key that is never there, and markers for which the script has asked
-- ARGV[1-3]  field of the write holds; lease in milliseconds; session that announces its wait
-- ARGV[4]    milliseconds for which a refusal is announced to readers; 0 for not
-- ARGV[5]    of the head of a local queue, in stand: PUBLISH or SPUBLISH; ARGV[6] is the wake channel then
--
-- Answers -3 when the owner holds the lock, by this execution or by an earlier one of the same command; else
-- the milliseconds until the lease of the writer or the longest promise of a reader is over, or -1 when it
-- has no end. To a head it may also answer -4, less the milliseconds for which the lock is left to outsiders.
--
-- Readers whose promises are all over are dead: their fields are dropped, and do not keep a writer out however long
-- the hash would live on. The list of our readers can refuse a writer. What lets it in is that no field of a reader is
-- there, or that each was looked at.

if redis.call('hexists', lock, ARGV[1]) == 1 then
  return -3
end
local mode, remaining = redis.call('hget', lock, 'mode'), 0
if mode == 'read' then
  local found = look()
  if #asked > 0 then
    return ask()
  end
  remaining = found.longest < math.huge and found.longest or -1
  if remaining == 0 then
    free()
    mode = false
  else
    bring(found)
  end
elseif mode then
  remaining = redis.call('pttl', lock)
elseif redis.call('exists', lock) == 1 then
  return redis.error_reply('WRONGTYPE the key is a lock of another kind, not a read-write lock; use another name')
else
  free() -- of what outlived a lock that was deleted
end
if mode then
  if ARGV[4] ~= '0' then
    announce(KEYS[4], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[4]))
  end
  return remaining
end
local rest = ARGV[6] and left(KEYS[4], true, ARGV[5], ARGV[6], row) or 0
if rest > 0 then
  return -4 - rest
end
take(KEYS[1], ARGV[1], ARGV[2], 'mode', 'write')
if ARGV[4] ~= '0' then
  redis.call('zrem', KEYS[4], ARGV[3])
end
return -3
