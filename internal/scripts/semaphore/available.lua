-- available reads the number of permits. It follows the prelude value.
--
-- KEYS[1]  semaphore: permits available
--
-- Answers the number, 0 when there is no semaphore.

return value or '0'
