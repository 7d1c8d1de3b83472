-- await reads what a waiter has to know. It follows the prelude value.
--
-- KEYS[1]  latch: what is still to be counted
-- KEYS[2]  record of the latch, see rounds
--
-- Answers an array: the count as text, empty when there is no latch; the milliseconds that its TTL has left, -1 without
-- one; the time in milliseconds since 1970; and the fields and values of the record, an array.
--
-- The record of a latch that is waited for does not run out. How the one before it ended, of another program, is forgotten: nobody
-- could tell that from the end of this one, for which the other program keeps no record.

local fields = redis.call('hgetall', KEYS[2])
local left = -1
if value then
  left = redis.call('pttl', KEYS[1])
  local kept = redis.call('pttl', KEYS[2])
  if kept >= 0 and kept < 21600000 then
    redis.call('pexpire', KEYS[2], '86400000')
  end
  for i = 1, #fields, 2 do
    if fields[i] == 'foreign' then
      redis.call('hdel', KEYS[2], 'foreign')
    end
  end
end
local clock = redis.call('time')
return { value or '', left, string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000)), fields }
