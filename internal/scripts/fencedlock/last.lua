-- last reads a token. It goes through a script because a client that reads from replicas would send GET to one that
-- lags.
--
-- KEYS[1]  a string, decimal integer
--
-- Answers it as text, 0 when there is no such key.

return redis.call('get', KEYS[1]) or '0'
