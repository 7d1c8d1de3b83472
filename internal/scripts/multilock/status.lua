-- status reads whether any of the values is taken, for how long still, and how often by one owner.
--
-- KEYS[1]      group hash: value = owner, value:owner:expire_time, value:owner:lock_count
-- ARGV[1]      owner
-- ARGV[i]      from ARGV[2] on the values, as hashed
--
-- Answers an array: the milliseconds until the last deadline (-2 when all values are free), and the holds that the owner
-- has on every value, as text; 0 when it has not all of them.

local now = clock()
local left, holds = -2, false
for i = 2, #ARGV do
  local owner = redis.call('hget', KEYS[1], ARGV[i])
  local ends = owner and deadline(KEYS[1], ARGV[i], owner) or 0
  local count = 0
  if ends > now then
    left = math.max(left, ends - now)
    if owner == ARGV[1] then
      count = tonumber(redis.call('hget', KEYS[1], ARGV[i] .. ':' .. owner .. ':lock_count') or 0)
    end
  end
  holds = holds and math.min(holds, count) or count
end
return {left, text(holds)}
