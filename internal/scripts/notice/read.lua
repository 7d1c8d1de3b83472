-- read answers the notices for owners. It is joined behind gone.
-- KEYS[i]  notices
-- ARGV[i]  owner
--
-- Answers an array of the notices, 0 where there is none.

local notices = {}
for i, key in ipairs(KEYS) do
  notices[i] = gone(key, ARGV[i])
end
return notices
