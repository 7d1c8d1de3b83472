-- read reads a counter. It goes through a script because a client that reads from replicas would send GET to one
-- that lags. It follows the prelude value.
--
-- KEYS[1]  counter
--
-- Answers its text, 0 when there is no counter.

return value or '0'
