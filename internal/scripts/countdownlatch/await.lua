-- await reads what a waiter has to know.
-- KEYS[1-2]  latch: what is still to be counted; record of the latch, see rounds
-- ARGV[1]    an epoch for the record of a latch that has none; empty: none is made
--
-- Answers an array: the count as text, empty when there is no latch; the milliseconds that its TTL has left, -1 without
-- one; the time in milliseconds since 1970; and the fields and values of the record, an array.
--
-- The record of a latch that is waited for does not run out. Without a record it is another program's: it gets an epoch, by which
-- the waiters learn of a server that has lost both. How the one before it ended, of another program, is forgotten: nobody could
-- tell that from the end of this one, for which the other program keeps no record.

local fields = redis.call('hgetall', KEYS[2])
local left = -1
if value and tonumber(value) > 0 then
  left = redis.call('pttl', KEYS[1])
  local epoch, foreign = false, false
  for i = 1, #fields, 2 do
    epoch, foreign = epoch or fields[i] == 'epoch', foreign or fields[i] == 'foreign'
  end
  if not epoch and ARGV[1] ~= '' and redis.pcall('hset', KEYS[2], 'epoch', ARGV[1]) == 1 then -- else it is done without, by a full server
    fields[#fields + 1], fields[#fields + 2] = 'epoch', ARGV[1]
  end
  if #fields > 0 and redis.call('pttl', KEYS[2]) < 21600000 then
    local lasts = redis.pcall('pexpire', KEYS[2], '86400000')
    if type(lasts) == 'table' then
      if not epoch then -- a record that is new must not stay without a TTL
        redis.pcall('hdel', KEYS[2], 'epoch')
      end
      return lasts
    end
  end
  if foreign then
    redis.call('hdel', KEYS[2], 'foreign')
  end
end
if not value and #fields == 0 then
  local reply = redis.pcall('hdel', KEYS[2], 'foreign') -- which changes nothing, and a replica refuses: its master may have the latch
  if type(reply) == 'table' and string.find(reply.err, 'READONLY', 1, true) then
    return reply
  end
end
return { value or '', left, clock(), fields }
