-- issue makes the next token. It is a prelude, joined in front of the script.
--
-- KEYS[2]  token: a string, the token issued last; no TTL
--
-- Answers of the function: the token as text, or the error with which it was refused.

local function issue()
  local counted = redis.pcall('incr', KEYS[2])
  if type(counted) == 'table' then
    return counted
  end
  redis.call('persist', KEYS[2]) -- whoever put a TTL on it would have the tokens start again at 1
  return redis.call('get', KEYS[2])
end
