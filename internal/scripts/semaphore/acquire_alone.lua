-- acquire_alone serves a caller that is alone and does not wait, with as few commands as can be. It follows the
-- preludes once, of the lanes, and value.
-- KEYS[1-2]  semaphore: permits available; lanes of the session
-- ARGV[1-2]  lane, sequence number
-- ARGV[3]    permits that it wants, 1 or more
--
-- Answers as acquire: 1 when the caller was served, -1 when there is no semaphore, else -2 less the permits that are
-- available.

local available = tonumber(value or '0')
if available < tonumber(ARGV[3]) then
  local reply = redis.pcall('hdel', KEYS[2], '') -- which changes nothing, and a replica refuses: its master may have permits
  if type(reply) == 'table' and string.find(reply.err, 'READONLY', 1, true) then
    return reply
  end
  return value and -2 - math.max(available, 0) or -1
end
local new, reply = redis.call('hset', KEYS[2], ARGV[1], ARGV[2] .. ':1'), nil
if new == 1 or math.floor(sequence / round) ~= math.floor(settled / round) then
  reply = redis.pcall('pexpire', KEYS[2], lifetime)
end
if type(reply) ~= 'table' then
  reply = redis.pcall('decrby', KEYS[1], ARGV[3])
end
if type(reply) == 'table' then -- refused, for want of a right: as the functions of settle do
  if stored then
    redis.call('hset', KEYS[2], ARGV[1], stored)
  elseif type(redis.pcall('hdel', KEYS[2], ARGV[1])) == 'table' then
    redis.call('hset', KEYS[2], ARGV[1], '0:0')
  end
  error('nothing was changed: ' .. reply.err, 0)
end
return 1
