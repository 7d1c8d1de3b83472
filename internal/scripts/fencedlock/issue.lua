-- issue makes the next tokens. It is a prelude.
-- KEYS[2]  token: a string, the token issued last; no TTL
--
-- n is how many, 1 if it is left out. Answers of the function: the last of them, as text, or the error with which they
-- were refused.

local function issue(n)
  local counted = redis.pcall('incrby', KEYS[2], n or 1)
  if type(counted) == 'table' then
    return counted
  end
  redis.call('persist', KEYS[2]) -- a TTL on it would have the tokens start again at 1
  return redis.call('get', KEYS[2])
end
