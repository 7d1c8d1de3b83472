-- acquire takes all values of a group for a fresh owner, or none.
-- KEYS[1-2]  group hash: value = owner, value:owner:expire_time, value:owner:lock_count; process queue, left out where it cannot be had
-- ARGV[1-2]  owner; lease in milliseconds
-- ARGV[3]    for how many milliseconds the owner's process is known to be there, if the owner is to stand in the queue when it is
--            refused; else 0
-- ARGV[i]    from ARGV[4] on the values, as hashed
--
-- Answers -3 when the owner has all values, by this execution or by an earlier one of the same command; else the
-- milliseconds until the last of the others' deadlines.
--
-- The hash of a lock of another kind is refused, although its fields are other ones: both locks would be held, and the
-- scripts of a read-write lock would take a deadline for a number of holds. The hash of a plain lock has one field, a
-- value of a group has more.

local now = clock()
local mine, busy = 0, 0
local owners = {}
for i = 4, #ARGV do
  local owner = redis.call('hget', KEYS[1], ARGV[i])
  owners[i] = owner
  if owner then
    local ends = deadline(KEYS[1], ARGV[i], owner)
    if ends > now then
      if owner == ARGV[1] then
        mine = mine + 1
      else
        busy = math.max(busy, ends)
      end
    end
  end
end
local stands = KEYS[2] and ARGV[3] ~= '0'
if busy > 0 then
  if stands then
    stand(KEYS[2], ARGV[1], 1, ARGV[3])
  end
  return busy - now
end
if mine == #ARGV - 3 then
  return -3
end

if redis.call('hlen', KEYS[1]) == 1 or redis.call('hexists', KEYS[1], 'mode') == 1 then
  return redis.error_reply('WRONGTYPE the key is a lock of another kind, not a group; use another name')
end

local ttl = redis.call('pttl', KEYS[1])
local ends = whole(now + tonumber(ARGV[2]))
for i = 4, #ARGV do
  local field = ARGV[i] .. ':' .. ARGV[1]
  redis.call('hset', KEYS[1], ARGV[i], ARGV[1], field .. ':expire_time', ends, field .. ':lock_count', '1')
  if owners[i] and owners[i] ~= ARGV[1] then
    -- What is left of an owner whose deadline has passed. It goes last, or the key might go with it, and its TTL.
    field = ARGV[i] .. ':' .. owners[i]
    redis.call('hdel', KEYS[1], field .. ':expire_time', field .. ':lock_count')
  end
end
outlast(KEYS[1], ttl, tonumber(ARGV[2]))
if stands then
  redis.pcall('zrem', KEYS[2], ARGV[1])
end
return -3
