-- reenter sets the number of holds of an owner that holds the lock, lengthens its TTL, and issues a token if the owner has
-- none left.
-- KEYS[1]    lock hash: field = owner, value = holds
-- KEYS[2]    token: a string, the token issued last; no TTL
-- ARGV[1-3]  owner; holds that the owner has from now on; milliseconds that the TTL is lengthened to
-- ARGV[4]    the least that the token may be: the last of the owner's tokens, and one more if it has given that out
--
-- Answers {1, token issued last as text}, or {0, 0} when the owner does not hold the lock; then nothing is created.

local holds = redis.call('hget', KEYS[1], ARGV[1])
if not holds then
  return {0, 0}
end
local token = redis.call('get', KEYS[2]) or '0'
if not tonumber(token) then
  return redis.error_reply('ERR ' .. KEYS[2] .. ' holds something that is not a token; remove it')
end

-- Nobody else is issued tokens now. So a token above the owner's is from an earlier execution for this owner, and one
-- below them, or none, was lost and is made good.
if below(token, ARGV[4]) then
  token = ARGV[4]
  redis.call('set', KEYS[2], token)
else
  redis.call('persist', KEYS[2])
end
if holds ~= ARGV[2] then
  redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
end
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[3]) then -- a key without TTL says -1, and gets one
  redis.call('pexpire', KEYS[1], ARGV[3])
end
return {1, token}
