-- recount_read sets the number of read holds of an owner that reads, and lengthens its promise.
-- KEYS[1-3]  lock hash, list of our readers, record of strangers, as strangers has them
-- KEYS[i]    the owner's marker i-3, for i = 4 to three more than the most holds it ever had
-- ARGV[1-3]  owner; holds that it has from now on; milliseconds that its promise is lengthened to
--
-- Answers 1, or 0 when the owner does not read; then nothing is created, and what is left of its markers is deleted.
--
-- Afterwards there is one marker for each hold, and each carries the longest promise of those that there were: Redisson
-- deletes the highest, whichever hold ends. No marker and no TTL is shortened.

local longest = tonumber(ARGV[3])
if redis.call('hexists', lock, ARGV[1]) == 1 then
  for i = ARGV[2] + 4, #KEYS do
    longest = math.max(longest, redis.call('pttl', KEYS[i]))
    redis.call('del', KEYS[i])
  end
  redis.call('hset', lock, ARGV[1], ARGV[2])
end
return keep(ARGV[1], 4, #KEYS - 3, longest)
