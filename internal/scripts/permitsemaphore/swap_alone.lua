-- swap_alone is the whole exchange of ids where it is not asked who waits and all permits are there. It is the first prelude of
-- swap. What has expired is left to other scripts.
-- KEYS[1-2], ARGV[5-6], ARGV[i]  as swap has them
--
-- Answers as swap, or nothing when there is more to do; then nothing was changed.

local value, lease, count = redis.call('get', KEYS[1]), tonumber(ARGV[5]), tonumber(ARGV[6])
if value and #value < 16 and string.find(value, '^%d+$') and lease >= 0 then
  local time, answers, fresh, i = redis.call('time'), {3}, {}, 7
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local ends = string.format('%.0f', now + lease)
  while i < 7 + count and tonumber(redis.call('zscore', KEYS[2], ARGV[i]) or 0) > now do
    answers[#answers + 1], fresh[#fresh + 1], fresh[#fresh + 2] = 1, ends, ARGV[count + i]
    i = i + 1
  end
  -- The fresh ids come first, so that the key stays, and its TTL.
  if i == 7 + count and redis.pcall('zadd', KEYS[2], 'NX', unpack(fresh)) == count then
    local removed = redis.pcall('zrem', KEYS[2], unpack(ARGV, 7, 6 + count))
    if type(removed) == 'table' then -- the old ids stay beside the fresh ones, so as many permits are taken
      redis.call('incrby', KEYS[1], '-' .. ARGV[6])
      error(removed.err, 0)
    end
    return count == 1 and 3 or answers
  end
end
