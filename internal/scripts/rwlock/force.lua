-- force deletes a lock that is in the given mode, whoever holds it, and wakes the waiters.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[2]  list of our readers
-- KEYS[3]  record of strangers
-- ARGV[1]  mode
-- ARGV[2]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]  wake channel
-- ARGV[4]  message
-- ARGV[5]  stem of all markers of the lock, without the colon after it
--
-- Answers 1, or 0 when the lock was not in that mode.

if redis.call('hget', KEYS[1], 'mode') ~= ARGV[1] then
  return 0
end
local fields = redis.call('hgetall', KEYS[1])
redis.call('del', KEYS[1], KEYS[2], KEYS[3])
for at = 1, #fields, 2 do
  for i = 1, tonumber(fields[at + 1]) or 0 do -- a writer has no markers, and the mode is no number
    redis.call('del', ARGV[5] .. ':' .. fields[at] .. ':rwlock_timeout:' .. i)
  end
end
if ARGV[2] ~= '' then
  redis.pcall(ARGV[2], ARGV[3], ARGV[4]) -- refused to a user who may not publish: the waiters poll
end
return 1
