-- recount_read sets the number of read holds of an owner that reads, and lengthens its promise.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[i]  the owner's marker i-1, for i = 2 to one more than the most holds it ever had
-- ARGV[1]  owner
-- ARGV[2]  holds that the owner has from now on
-- ARGV[3]  milliseconds that its promise is lengthened to
--
-- Answers 1, or 0 when the owner does not read; then nothing is created, and what is left of its markers is deleted.
--
-- Afterwards there is one marker for each hold, and each carries the longest promise of all that there were: Redisson
-- deletes the highest, whichever hold ends. No marker and no TTL is shortened.

if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  for i = 2, #KEYS do
    redis.call('del', KEYS[i])
  end
  return 0
end
local holds, longest = tonumber(ARGV[2]), tonumber(ARGV[3])
for i = 2, #KEYS do
  longest = math.max(longest, redis.call('pttl', KEYS[i]))
end
for i = holds + 2, #KEYS do
  redis.call('del', KEYS[i])
end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
if longest > 0 then
  for i = 2, holds + 1 do
    if redis.call('pttl', KEYS[i]) < longest then
      redis.call('set', KEYS[i], '1', 'px', string.format('%.0f', longest))
    end
  end
  lengthen(KEYS[1], longest)
end
return 1
