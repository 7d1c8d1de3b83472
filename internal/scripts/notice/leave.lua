-- leave says who took something away from its owner by force, and why.
-- KEYS[1]    notices: hash, field = owner, value = when (server ms), who and why, in three lines
-- ARGV[1-5]  owner; who, without a line break; why; how long the notices are kept, ms; how many are kept
--
-- Answers when.

if redis.call('hlen', KEYS[1]) >= tonumber(ARGV[5]) then
  redis.call('del', KEYS[1]) -- the newest is the one that is asked for
end
local now = clock()
redis.call('hset', KEYS[1], ARGV[1], whole(now) .. '\n' .. ARGV[2] .. '\n' .. ARGV[3])
local refused = redis.pcall('pexpire', KEYS[1], ARGV[4])
if type(refused) == 'table' then -- notices must not stay without a TTL
  redis.call('hdel', KEYS[1], ARGV[1])
  return refused
end
return now
