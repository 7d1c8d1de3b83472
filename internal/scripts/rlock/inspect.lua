-- inspect reads everything that a lock's hash says.
-- KEYS[1]  lock hash
--
-- Answers an array: the TTL in milliseconds (-1 when the key has none, -2 when there is no key), then each field
-- followed by its value.

local fields = redis.call('hgetall', KEYS[1])
table.insert(fields, 1, redis.call('pttl', KEYS[1]))
return fields
