-- raise sees to it that the tokens go on above those that their owner has issued by itself, should the counter have been
-- lost meanwhile. It is a prelude, joined in front of the script.
-- KEYS[2]        token: a string, the token issued last; no TTL
-- ARGV[#ARGV]    the last of the owner's tokens, 0 if it has none; taken away, so that what follows does not see it
--
-- The counter is never lowered, so it does no harm late, or by an owner that has lost the lock. A server that is out of
-- memory, and a counter that is no number, are not this prelude's concern. Decimals are compared as below does.

local given = table.remove(ARGV)
if given ~= '0' then
  local counter = redis.pcall('get', KEYS[2])
  if counter ~= given then
    counter = counter or '0'
    if tonumber(counter) and (#counter < #given or #counter == #given and counter < given) then
      redis.pcall('set', KEYS[2], given)
    end
  end
end
