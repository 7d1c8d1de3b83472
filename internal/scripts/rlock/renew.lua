-- renew lengthens the TTL of the locks that their owners still hold.
--
-- KEYS[i]        lock hash: field = owner, value = holds
-- ARGV[2*i - 1]  owner
-- ARGV[2*i]      milliseconds that the TTL is lengthened to; 0 leaves it alone
--
-- Answers an array with one number for each key: 1 when its owner holds the lock, 0 when not.

local alive = {}
for i, key in ipairs(KEYS) do
  local lease = tonumber(ARGV[2 * i])
  local held = redis.pcall('hexists', key, ARGV[2 * i - 1])
  if type(held) == 'table' then
    -- An error. A key that is no hash any more is a lost lock and must not spoil the others. Anything else, such as a
    -- missing permission, says nothing about the lock, and nobody may be told that it is lost.
    if redis.call('type', key).ok == 'hash' then
      return held
    end
    held = 0
  end
  if held == 1 and lease > 0 and redis.call('pttl', key) < lease then -- a key without TTL says -1, and gets one
    redis.call('pexpire', key, ARGV[2 * i])
  end
  alive[i] = held
end
return alive
