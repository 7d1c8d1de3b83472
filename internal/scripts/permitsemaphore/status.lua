-- status counts permits.
-- KEYS[1-2]  semaphore: permits available; permits taken
-- ARGV[1-3]  PUBLISH or SPUBLISH, wake channel, row
--
-- Answers an array: permits available, permits taken, 1; three times 0 when there is no semaphore.

local expired = reclaim()
returned(ARGV[1], ARGV[2], ARGV[3], expired, 0)
return available and { available, redis.call('zcard', KEYS[2]), 1 } or { 0, 0, 0 }
