-- inspect reads who has which of the values.
-- KEYS[1]      group hash: value = owner, value:owner:expire_time, value:owner:lock_count
-- ARGV[i]      from ARGV[1] on the values, as hashed
--
-- Answers an array with three elements for each value: the owner, empty when it is free; the milliseconds until its
-- deadline; its holds as text.

local now = clock()
local all = {}
for i = 1, #ARGV do
  local owner = redis.call('hget', KEYS[1], ARGV[i]) or ''
  local ends = deadline(KEYS[1], ARGV[i], owner)
  local holds = '0'
  if ends > now then
    holds = redis.call('hget', KEYS[1], ARGV[i] .. ':' .. owner .. ':lock_count') or '0'
  else
    owner, ends = '', now
  end
  all[3 * i - 2], all[3 * i - 1], all[3 * i] = owner, ends - now, holds
end
return all
