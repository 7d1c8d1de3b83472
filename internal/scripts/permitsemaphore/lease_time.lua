-- lease_time reads the deadline of a permit.
-- KEYS[1-2]  semaphore: permits available; permits taken
-- ARGV[1-4]  PUBLISH or SPUBLISH, wake channel, row; id
--
-- Answers the milliseconds that are left, -1 for a permit without a deadline, -2 when there is no such permit.

local expired = reclaim()
local score = available and redis.call('zscore', KEYS[2], ARGV[4])
returned(ARGV[1], ARGV[2], ARGV[3], expired, 0)
return not score and -2 or tonumber(score) == permanent and -1 or tonumber(score) - now
