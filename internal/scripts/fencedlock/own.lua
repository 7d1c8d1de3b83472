-- own says which token an owner that holds already has. It is a prelude, joined in front of the script.
-- KEYS[2]  token: a string, the token issued last; no TTL
--
-- least is optional: the token is at least that, should the counter have been lost. Decimals are compared as below does.
-- Answers of the function: the last token, as text. While the owner holds no other is issued one, so it is its own.

local function own(least)
  local token = redis.call('get', KEYS[2])
  least = least or '1'
  if not token or #token < #least or #token == #least and token < least then -- removed meanwhile
    token = least
    redis.call('set', KEYS[2], token)
  end
  return token
end
