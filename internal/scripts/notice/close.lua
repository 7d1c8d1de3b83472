-- close removes a request, unless there is a later one.
-- KEYS[1]    notices
-- ARGV[1-2]  owner; when the request was made
--
-- Answers 1, or 0 when there was nothing to remove.

local request = redis.call('hget', KEYS[1], 'ask:' .. ARGV[1])
if not request or string.match(request, '^%d*') ~= ARGV[2] then
  return 0
end
redis.call('hdel', KEYS[1], 'heard:' .. ARGV[1])
return redis.call('hdel', KEYS[1], 'ask:' .. ARGV[1])
