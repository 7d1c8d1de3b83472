-- force deletes a lock that is in the given mode, whichever owner holds it, and wakes the waiters.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[i]    markers for which the script has asked
-- ARGV[1-4]  mode; PUBLISH or SPUBLISH, empty for no message; wake channel; message
--
-- Answers 1, or 0 when the lock was not in that mode.

if redis.call('hget', KEYS[1], 'mode') ~= ARGV[1] then
  return 0
end
local fields, gone = redis.call('hgetall', KEYS[1]), {}
for at = 1, #fields, 2 do
  for _, marker in ipairs(markers(fields[at], tonumber(fields[at + 1]) or 0)) do -- the mode is no number
    gone[#gone + 1] = marker
  end
end
if #asked > 0 then
  return ask()
end
redis.call('del', KEYS[1], KEYS[2], KEYS[3])
for _, marker in ipairs(gone) do
  redis.call('del', marker)
end
if ARGV[2] ~= '' then
  redis.pcall(ARGV[2], ARGV[3], ARGV[4]) -- refused to a user who may not publish: the waiters poll
end
return 1
