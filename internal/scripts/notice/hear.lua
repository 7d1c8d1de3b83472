-- hear reads a request for an owner, and notes that the owner's client has read it.
-- KEYS[1]  notices: hash, field = 'ask:' and the owner, value = when (server ms), who and why, in three lines;
--          field = 'heard:' and the owner, value = when that request was made
-- ARGV[1]  owner
--
-- Answers an array of the request, or an empty one.

local request = redis.call('hget', KEYS[1], 'ask:' .. ARGV[1])
if not request then
  return {}
end
redis.call('hset', KEYS[1], 'heard:' .. ARGV[1], string.match(request, '^%d*'))
return {request}
