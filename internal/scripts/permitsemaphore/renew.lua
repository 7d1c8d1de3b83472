-- renew moves the deadlines of permits that are still there, never back.
-- KEYS[i]  in pairs: semaphore, permits taken; behind those, for each pair, the notices of what was taken by force
-- ARGV[i]  for each pair: milliseconds from now that the deadlines are moved to, 0 leaves them alone; number of ids; ids
--
-- Answers an array with one element for each id: 1 when it is there, has not expired and has a semaphore, and
-- when not the notice for it, which is kept under the id in hexadecimal, or 0.

local now, alive, missing = clock(), {}, {}
local at, i = 1, 1
while at <= #ARGV do
  local lease, last = tonumber(ARGV[at]), at + 1 + tonumber(ARGV[at + 1])
  local exists = redis.call('exists', KEYS[i])
  if lease > 0 then
    redis.pcall('zrem', KEYS[i + 1], '') -- for a server that is out of memory
  end
  for j = at + 2, last do
    local score = redis.pcall('zscore', KEYS[i + 1], ARGV[j])
    if type(score) == 'table' then
      -- An error. A key that is no sorted set any more is lost permits and must not spoil the others. Anything else
      -- says nothing about them, and no holder may be told that they are lost.
      if redis.call('type', KEYS[i + 1]).ok == 'zset' then
        return score
      end
      score = false
    end
    score = tonumber(score or '0')
    local held = exists == 1 and score > now
    if held and lease > 0 and score < now + lease then
      redis.call('zadd', KEYS[i + 1], whole(now + lease), ARGV[j])
    end
    alive[#alive + 1] = held and 1 or 0
    if not held then
      missing[#missing + 1] = {at = #alive, semaphore = (i + 1) / 2, id = ARGV[j]}
    end
  end
  at, i = last + 1, i + 2
end
for _, permit in ipairs(missing) do
  local id = string.gsub(permit.id, '.', function(byte) return string.format('%02x', string.byte(byte)) end)
  alive[permit.at] = gone(KEYS[i - 1 + permit.semaphore], id)
end
return alive
