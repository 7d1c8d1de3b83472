-- heard tells whether the owner's client has read a request, or a later one.
-- KEYS[1]    notices
-- ARGV[1-2]  owner; when the request was made
--
-- Answers 1 or 0.

local heard = redis.call('hget', KEYS[1], 'heard:' .. ARGV[1])
return heard and (tonumber(heard) or 0) >= tonumber(ARGV[2]) and 1 or 0
