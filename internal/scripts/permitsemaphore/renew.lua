-- renew moves the deadlines of permits that are still there, never back.
-- KEYS[i]  in pairs: semaphore, permits taken; behind those, for each pair, the notices of what was taken by force
-- ARGV[1]  number of the pairs
-- ARGV[i]  for each: milliseconds from now that the deadlines are moved to, 0 leaves them alone; number of ids; ids
--
-- Answers an array with one element for each id: 1 when it is there, has not expired and has a semaphore, and
-- when not the notice for it, which is kept under the id in hexadecimal, or 0.

local now, alive, at = clock(), {}, 2
for pair = 1, tonumber(ARGV[1]) do
  local lease, last, taken = tonumber(ARGV[at]), at + 1 + tonumber(ARGV[at + 1]), KEYS[2 * pair]
  local exists = redis.call('exists', KEYS[2 * pair - 1])
  if lease > 0 then
    redis.pcall('zrem', taken, '') -- for a server that is out of memory
  end
  for i = at + 2, last do
    local score = redis.pcall('zscore', taken, ARGV[i])
    if type(score) == 'table' then
      -- An error. A key that is no sorted set any more is lost permits and must not spoil the others. Anything else
      -- says nothing about them, and no holder may be told that they are lost.
      if redis.call('type', taken).ok == 'zset' then
        return score
      end
      score = false
    end
    score = tonumber(score or '0')
    alive[#alive + 1] = exists == 1 and score > now and 1 or 0
    if alive[#alive] == 0 then
      local id = string.gsub(ARGV[i], '.', function(byte) return string.format('%02x', string.byte(byte)) end)
      alive[#alive] = gone(KEYS[2 * ARGV[1] + pair], id)
    elseif lease > 0 and score < now + lease then
      redis.call('zadd', taken, whole(now + lease), ARGV[i])
    end
  end
  at = last + 1
end
return alive
