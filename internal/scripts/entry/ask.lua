-- ask has a client find out, at its next report, that somebody asks for what it holds by an identity.
-- KEYS[1-2]  entry: hash; asked: hash, field = identity, value = until when
-- ARGV[1-3]  identity; for how many milliseconds somebody asks; of how many identities of one client can be asked
--
-- Answers until when, in milliseconds since 1970; 0 when there is no entry, so the client reports nothing; -1 when of too many is asked;
-- -2 when KEYS[2] is a key of another type.

if redis.call('exists', KEYS[1]) == 0 then
  return 0
end
local kind = redis.call('type', KEYS[2]).ok
if kind ~= 'hash' and kind ~= 'none' then
  return -2
end
if redis.call('hlen', KEYS[2]) >= tonumber(ARGV[3]) and redis.call('hexists', KEYS[2], ARGV[1]) == 0 then
  return -1
end
local ends = clock() + ARGV[2]
local lasts = redis.call('pttl', KEYS[2])
redis.call('hset', KEYS[2], ARGV[1], whole(ends))
if lasts < tonumber(ARGV[2]) then -- of a new hash it is negative
  local refused = redis.pcall('pexpire', KEYS[2], ARGV[2])
  if type(refused) == 'table' then -- a hash must not stay that has no TTL
    redis.call('hdel', KEYS[2], ARGV[1])
    return refused
  end
end
return ends
