-- acquire_all takes several locks, each for a fresh owner, if all of them are free.
--
-- KEYS[i]        lock hash: field = owner, value = holds
-- ARGV[2*i - 1]  owner
-- ARGV[2*i]      lease in milliseconds
--
-- Answers an array of two. The first is 0 when the owners hold all the locks, by this execution or by an earlier one of the
-- same command; else the number of the first lock that another owner holds, and then the second is the milliseconds that its
-- lease still lasts, 0 or more, or -1 when its key has no TTL.
--
-- One EXISTS tells that all are free, as they mostly are: each command that a script calls is felt.

local taken = {}
if redis.call('exists', unpack(KEYS)) > 0 then
  for i, key in ipairs(KEYS) do
    local remaining = redis.call('pttl', key)
    taken[i] = remaining ~= -2 -- no such key
    if taken[i] and redis.call('hexists', key, ARGV[2 * i - 1]) == 0 then
      return {i, remaining}
    end
  end
end
for i, key in ipairs(KEYS) do
  if not taken[i] then
    redis.call('hset', key, ARGV[2 * i - 1], '1')
    local lasts = redis.pcall('pexpire', key, ARGV[2 * i])
    if type(lasts) == 'table' then -- refused, and a lock must not stay that has no TTL
      redis.call('hdel', key, ARGV[2 * i - 1])
      error('nothing was changed: ' .. lasts.err, 0)
    end
  end
end
return {0, 0}
