-- renew lengthens the deadlines of the owners who still have all of their values, which are the same for all of them.
-- KEYS[i]      group hash: value = owner, value:owner:expire_time, value:owner:lock_count; behind those, for each, the notices of what was
--              taken by force
-- ARGV[1]      number of owners
-- ARGV[2*i]    owner
-- ARGV[2*i+1]  milliseconds that its deadlines are lengthened to; 0 leaves them alone
-- ARGV[i]      behind those the values, as hashed
--
-- Answers an array with one element for each owner: 1 when it has all values, and when not the notice for it,
-- or 0.

local now, owners = clock(), tonumber(ARGV[1])
local first = 2 * owners + 2 -- of the values

local function owns(key, owner)
  for i = first, #ARGV do
    if redis.call('hget', key, ARGV[i]) ~= owner or deadline(key, ARGV[i], owner) <= now then
      return 0
    end
  end
  return 1
end

local alive = {}
for i = 1, owners do
  local key, owner, lease = KEYS[i], ARGV[2 * i], tonumber(ARGV[2 * i + 1])
  -- A key that is no hash any more is a lost lock and must not spoil the others.
  alive[i] = redis.call('type', key).ok == 'hash' and owns(key, owner) == 1 and 1 or gone(KEYS[owners + i], owner)
  if alive[i] == 1 and lease > 0 then
    redis.call('hdel', key, '') -- for a server that is out of memory
    for j = first, #ARGV do
      if deadline(key, ARGV[j], owner) < now + lease then
        redis.call('hset', key, ARGV[j] .. ':' .. owner .. ':expire_time', whole(now + lease))
      end
    end
    outlast(key, redis.call('pttl', key), lease)
  end
end
return alive
