-- recount sets the number of holds of an owner that holds the lock, and lengthens its TTL.
-- KEYS[1]    lock hash: field = owner, value = holds
-- ARGV[1-2]  owner; holds that the owner has from now on
-- ARGV[3]    milliseconds that the TTL is lengthened to; 0 leaves it alone
--
-- Answers 1, or 0 when the owner does not hold the lock; then nothing is created.

local holds = redis.call('hget', KEYS[1], ARGV[1])
if not holds then
  return 0
end
if tonumber(holds) > tonumber(ARGV[2]) then
  redis.call('hdel', KEYS[1], '') -- for a server that is out of memory
end
if holds ~= ARGV[2] then
  redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
end
local lease = tonumber(ARGV[3])
if lease > 0 and redis.call('pttl', KEYS[1]) < lease then -- a key without TTL says -1, and gets one
  redis.call('pexpire', KEYS[1], ARGV[3])
end
return 1
