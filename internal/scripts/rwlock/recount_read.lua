-- recount_read sets the number of read holds of an owner that reads, and lengthens its promise.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[2]  list of our readers
-- KEYS[3]  record of strangers
-- KEYS[i]  the owner's marker i-3, for i = 4 to three more than the most holds it ever had
-- ARGV[1]  owner
-- ARGV[2]  holds that the owner has from now on
-- ARGV[3]  milliseconds that its promise is lengthened to
--
-- Answers 1, or 0 when the owner does not read; then nothing is created, and what is left of its markers is deleted.
--
-- Afterwards there is one marker for each hold, and each carries the longest promise of all that there were: Redisson
-- deletes the highest, whichever hold ends. No marker and no TTL is shortened.

if redis.call('hexists', lock, ARGV[1]) == 0 then
  for i = 4, #KEYS do
    redis.call('del', KEYS[i])
  end
  redis.call('zrem', readers, ARGV[1])
  return 0
end
local holds, longest = tonumber(ARGV[2]), tonumber(ARGV[3])
for i = 4, #KEYS do
  longest = math.max(longest, redis.call('pttl', KEYS[i]))
end
for i = holds + 4, #KEYS do
  redis.call('del', KEYS[i])
end
redis.call('hset', lock, ARGV[1], ARGV[2])
if longest > 0 then
  for i = 4, holds + 3 do
    if redis.call('pttl', KEYS[i]) < longest then
      redis.call('set', KEYS[i], '1', 'px', whole(longest))
    end
  end
  lengthen(longest)
  enter(ARGV[1], longest)
end
return 1
