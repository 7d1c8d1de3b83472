-- status reads whether one side of a lock is held, how long still, and how often by one owner.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[i]    markers for which the script has asked
-- ARGV[1-2]  field of the owner on that side; side: read or write
--
-- Answers an array of two: the TTL of the hash in milliseconds (-1 when it has none, -2 when the side is not held), and
-- the owner's holds, 0 when it has none. The reading side is held while a reader is alive, also one who writes.

local mode = redis.call('hget', lock, 'mode')
local held = mode == 'write'
if ARGV[2] == 'read' then
  held = mode and look().longest ~= 0
  if #asked > 0 then
    return ask()
  end
end
if not held then
  return {-2, '0'}
end
return {redis.call('pttl', lock), redis.call('hget', lock, ARGV[1]) or '0'}
