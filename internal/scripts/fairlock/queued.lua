-- queued reads who waits for a fair lock.
-- KEYS[1]  queue: list of owners, the next one first
--
-- Answers an array of the owners.

return redis.call('lrange', KEYS[1], 0, -1)
