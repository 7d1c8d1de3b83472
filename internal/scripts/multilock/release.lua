-- release ends all holds of an owner of values and wakes the waiters.
--
-- KEYS[1]      group hash: value = owner, value:owner:expire_time, value:owner:lock_count
-- ARGV[1]      owner
-- ARGV[2]      PUBLISH or SPUBLISH
-- ARGV[3]      wake channel
-- ARGV[i]      from ARGV[4] on the values, as hashed
--
-- Answers 1, or 0 when the owner had not all of the values any more; what it had is free then too.
--
-- HDEL is the first write because it is allowed on a server that is out of memory. With the last field goes the key.

local now = clock()
local had, freed = 0, 0
for i = 4, #ARGV do
  if redis.call('hget', KEYS[1], ARGV[i]) == ARGV[1] then
    freed = freed + 1
    if deadline(KEYS[1], ARGV[i], ARGV[1]) > now then
      had = had + 1
    end
    forget(KEYS[1], ARGV[i], ARGV[1])
  end
end
if freed > 0 then
  redis.call(ARGV[2], ARGV[3], '0')
end
return had == #ARGV - 3 and 1 or 0
