-- acquire takes the lock for a fresh owner if it is free, and issues the next token.
-- KEYS[1]    lock hash: field = owner, value = holds
-- KEYS[2]    token: a string, the token issued last; no TTL
-- ARGV[1-2]  owner; lease in milliseconds
--
-- Answers {1, token as text} when the owner holds the lock, by this execution or by an earlier one of the same command;
-- else {0, milliseconds that the holder's lease still lasts, 0 or more, or -1 when the key has no TTL}.

local remaining = redis.call('pttl', KEYS[1])
if remaining == -2 then -- no such key
  local token = issue() -- first of the writes, for it is the one that can be refused
  if type(token) == 'table' then
    return token
  end
  take(KEYS[1], ARGV[1], ARGV[2])
  return {1, token}
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return {0, remaining}
end
return {1, own()}
