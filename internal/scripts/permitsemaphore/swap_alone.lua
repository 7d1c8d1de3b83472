-- swap_alone is the whole exchange of one id where it is not asked who waits and the permit is there. It is the first prelude of
-- swap. What has expired is left to other scripts.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  permits taken
-- ARGV[5]  lease of the fresh id in milliseconds, -1 for none
-- ARGV[7]  id
-- ARGV[8]  fresh id
--
-- Answers as swap, or nothing when there is more to do; then nothing was changed.

local value, ends = redis.call('get', KEYS[1]), redis.call('zscore', KEYS[2], ARGV[7])
local lease = tonumber(ARGV[5])
if ends and value and #value < 16 and string.find(value, '^%d+$') and lease >= 0 then
  local time = redis.call('time')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  -- The fresh id comes first, so that the key stays, and its TTL.
  if tonumber(ends) > now and redis.pcall('zadd', KEYS[2], 'NX', string.format('%.0f', now + lease), ARGV[8]) == 1 then
    redis.call('zrem', KEYS[2], ARGV[7])
    return 3
  end
end
