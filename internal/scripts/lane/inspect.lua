-- inspect reads a counter.
-- KEYS[1]  counter
--
-- Answers an array: the value as text, empty when there is no counter; the reply of PTTL.

return { value or '', redis.call('pttl', KEYS[1]) }
