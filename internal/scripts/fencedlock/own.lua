-- own says which token an owner that holds already has. It is a prelude, joined in front of the script.
--
-- KEYS[2]  token: a string, the token issued last; no TTL
--
-- Answers of the function: the last token, as text. While the owner holds nobody else is issued one, so it is its own.

local function own()
  local token = redis.call('get', KEYS[2])
  if not token then -- removed meanwhile
    token = '1'
    redis.call('set', KEYS[2], token)
  end
  return token
end
