-- renew lengthens the TTL of the locks that their owners still hold.
-- KEYS[i]        lock hash: field = owner, value = holds; behind those, for each, the notices of what was taken by force
-- ARGV[2*i - 1]  owner
-- ARGV[2*i]      milliseconds that the TTL is lengthened to; 0 leaves it alone
--
-- Answers an array with one element for each lock: 1 when its owner holds it, and when not the notice for the
-- owner, or 0. A notice is for an owner without what follows its number in the field of a writer.

local alive, locks = {}, #ARGV / 2
for i = 1, locks do
  local key = KEYS[i]
  local lease = tonumber(ARGV[2 * i])
  local held = redis.pcall('hexists', key, ARGV[2 * i - 1])
  if type(held) == 'table' then
    -- An error. A key that is no hash any more is a lost lock and must not spoil the others. Anything else, such as a
    -- missing permission, says nothing about the lock, and no holder may be told that it is lost.
    if redis.call('type', key).ok == 'hash' then
      return held
    end
    held = 0
  end
  if held == 1 and lease > 0 and redis.call('pttl', key) < lease then -- a key without TTL says -1, and gets one
    redis.call('pexpire', key, ARGV[2 * i])
  end
  alive[i] = held == 1 and 1 or gone(KEYS[locks + i], string.match(ARGV[2 * i - 1], '^[^:]*:?[^:]*'))
end
return alive
