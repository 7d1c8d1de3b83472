-- issue_clocked is issue for tokens that outlive their counter: the last is at least the time in microseconds. It is a
-- prelude, joined in front of the script, and follows the prelude below.
-- KEYS[2]  token: a string, the token issued last; no TTL
--
-- n is how many, 1 if it is left out. Answers of the function: the last of them, as text, or the error with which they
-- were refused.
--
-- The time is the last of the tokens and not the one before the first, so that no token is ahead of the clock. Should the
-- counter be lost, the next acquisition has a later time, and a greater token than all before it.

local function issue(n)
  local time = redis.call('time')
  local counted = redis.pcall('incrby', KEYS[2], n or 1)
  if type(counted) == 'table' then
    return counted
  end
  local token, now = redis.call('get', KEYS[2]), time[1] .. string.sub('00000' .. time[2], -6)
  if below(token, now) then
    token = now
    redis.call('set', KEYS[2], token)
  else
    redis.call('persist', KEYS[2])
  end
  return token
end
