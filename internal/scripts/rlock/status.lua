-- status reads whether a lock is held, how long still, and how often by one owner.
--
-- KEYS[1]  lock hash: field = owner, value = holds
-- ARGV[1]  owner
--
-- Answers an array of two: the TTL in milliseconds (-1 when the key has none, -2 when there is no key), and the
-- owner's holds, 0 when it has none.

local holds = redis.call('hget', KEYS[1], ARGV[1])
return {redis.call('pttl', KEYS[1]), holds or '0'}
