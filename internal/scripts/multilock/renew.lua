-- renew lengthens the deadlines of the owners who still have all of their values, which are the same for all of them.
--
-- KEYS[i]          group hash: value = owner, value:owner:expire_time, value:owner:lock_count
-- ARGV[2*i - 1]    owner
-- ARGV[2*i]        milliseconds that its deadlines are lengthened to; 0 leaves them alone
-- ARGV[i]          behind those the values, as hashed
--
-- Answers an array with one number for each key: 1 when its owner has all values, 0 when not.
--
-- A server that is out of memory refuses HSET as the first write of a script, but never HDEL. No field is called that.

local now = clock()

local function owns(key, owner)
  for i = 2 * #KEYS + 1, #ARGV do
    if redis.call('hget', key, ARGV[i]) ~= owner or deadline(key, ARGV[i], owner) <= now then
      return 0
    end
  end
  return 1
end

local alive = {}
for i, key in ipairs(KEYS) do
  local owner, lease = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  -- A key that is no hash any more is a lost lock and must not spoil the others.
  alive[i] = redis.call('type', key).ok == 'hash' and owns(key, owner) or 0
  if alive[i] == 1 and lease > 0 then
    redis.call('hdel', key, '')
    for j = 2 * #KEYS + 1, #ARGV do
      if deadline(key, ARGV[j], owner) < now + lease then
        redis.call('hset', key, ARGV[j] .. ':' .. owner .. ':expire_time', text(now + lease))
      end
    end
    outlast(key, redis.call('pttl', key), lease)
  end
end
return alive
