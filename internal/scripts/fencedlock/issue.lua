-- issue makes the next tokens. It is a prelude, behind a line that says whether they are clocked: then they outlive their counter, for
-- the last is at least the time in microseconds.
-- KEYS[2]  token: a string, the token issued last; no TTL
--
-- n is how many, 1 if it is left out. Answers of the function: the last of them, as text, or the error with which they
-- were refused.
-- The time is the last of the tokens and not the one before the first, so that no token is ahead of the clock. Should the
-- counter be lost, the next acquisition has a later time, and a greater token than all before it.

local function issue(n)
  local time = clocked and redis.call('time')
  local counted = redis.pcall('incrby', KEYS[2], n or 1)
  if type(counted) == 'table' then
    return counted
  end
  local token = redis.call('get', KEYS[2])
  local least = time and time[1] .. string.sub('00000' .. time[2], -6) or token
  if #token < #least or #token == #least and token < least then
    token = least
    redis.call('set', KEYS[2], token)
  else
    redis.call('persist', KEYS[2]) -- a TTL on it would have the tokens start again at 1
  end
  return token
end
