-- values is what the scripts of groups share, a prelude behind clock.

-- A value belongs to an owner as long as its field says so and the owner's deadline is to come.
local function deadline(key, value, owner)
  return tonumber(redis.call('hget', key, value .. ':' .. owner .. ':expire_time') or 0)
end

-- The key outlives the deadlines by this many milliseconds. Redisson's waiters ask at the moment when a deadline passes,
-- and lengthen the TTL only where PTTL says more than 0: in the last millisecond of the key they would get a hold that
-- goes with it.
local BEYOND = 1000

-- outlast lengthens the key's TTL, which was ttl before anything was written, to a lease and what is beyond it. It never
-- shortens it, for other values may need it.
local function outlast(key, ttl, lease)
  if ttl == -2 or ttl >= 0 and ttl < lease + BEYOND then
    local lasts = redis.pcall('pexpire', key, whole(lease + BEYOND))
    if type(lasts) == 'table' then
      if ttl == -2 then -- the key is new, and must not stay without a TTL
        redis.call('del', key)
        error('nothing was changed: ' .. lasts.err, 0)
      end
      error(lasts.err, 0)
    end
  end
end

local function forget(key, value, owner)
  redis.call('hdel', key, value, value .. ':' .. owner .. ':expire_time', value .. ':' .. owner .. ':lock_count')
end
