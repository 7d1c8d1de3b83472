-- withdraw takes a notice back: nothing was taken away.
-- KEYS[1]  notices
-- ARGV[1]  owner
--
-- Answers 1, or 0 when there was none.

return redis.call('hdel', KEYS[1], ARGV[1])
