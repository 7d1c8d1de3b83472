-- take has an owner hold a lock that is free. It is a prelude.
-- The lease is in milliseconds, and what follows it are further fields of the hash and their values. A lock must not
-- stay that has no TTL: where a user may not set one, the script ends here.

local function take(key, owner, lease, ...)
  redis.call('hset', key, owner, '1', ...)
  local lasts = redis.pcall('pexpire', key, lease)
  if type(lasts) == 'table' then
    redis.call('hdel', key, owner, ...)
    error('nothing was changed: ' .. lasts.err, 0)
  end
end
