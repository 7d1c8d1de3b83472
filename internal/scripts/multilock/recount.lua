-- recount sets the number of holds of an owner of values, for each of them, and lengthens its deadlines.
-- KEYS[1]    group hash: value = owner, value:owner:expire_time, value:owner:lock_count
-- ARGV[1-2]  owner; holds that the owner has from now on
-- ARGV[3]    milliseconds that the deadlines are lengthened to; 0 leaves them alone
-- ARGV[i]    from ARGV[4] on the values, as hashed
--
-- Answers 1, or 0 when the owner has not all of the values any more; then nothing is changed.

local now = clock()
for i = 4, #ARGV do
  if redis.call('hget', KEYS[1], ARGV[i]) ~= ARGV[1] or deadline(KEYS[1], ARGV[i], ARGV[1]) <= now then
    return 0
  end
end
local lease = tonumber(ARGV[3])
if tonumber(redis.call('hget', KEYS[1], ARGV[4] .. ':' .. ARGV[1] .. ':lock_count') or 0) > tonumber(ARGV[2]) then
  redis.call('hdel', KEYS[1], '') -- for a server that is out of memory
end
for i = 4, #ARGV do
  local field = ARGV[i] .. ':' .. ARGV[1]
  redis.call('hset', KEYS[1], field .. ':lock_count', ARGV[2])
  if lease > 0 and deadline(KEYS[1], ARGV[i], ARGV[1]) < now + lease then
    redis.call('hset', KEYS[1], field .. ':expire_time', whole(now + lease))
  end
end
if lease > 0 then
  outlast(KEYS[1], redis.call('pttl', KEYS[1]), lease)
end
return 1
