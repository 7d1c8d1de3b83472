-- read answers the notice for an owner.
--
-- KEYS[1]  notices
-- ARGV[1]  owner
--
-- Answers an array of the notice, or an empty one.

local notice = redis.call('hget', KEYS[1], ARGV[1])
return notice and {notice} or {}
