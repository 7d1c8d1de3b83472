-- release ends all holds of an owner of values and tells the first process that waits for the same ones. Where there is none, or others
-- may listen, it wakes all.
-- KEYS[1-2]  group hash: value = owner, value:owner:expire_time, value:owner:lock_count; for queue
-- ARGV[1-3]  owner; PUBLISH or SPUBLISH; wake channel
-- ARGV[i]    from ARGV[4] on the values, as hashed
--
-- Answers 1, or 3 when a process was told; or 0 when the owner had not all of the values any more; what it had is free then too.
-- One that had none leaves the queue; if it was told, and has left it, the next one is told, or all.
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
local told, others = false, false
if freed > 0 or queue and redis.pcall('zrem', queue, ARGV[1]) == 0 then
  told, others = tell(ARGV[2], ARGV[3])
end
if others then
  redis[freed > 0 and 'call' or 'pcall'](ARGV[2], ARGV[3], '0') -- refused once, so that the caller can say so
end
return had < #ARGV - 3 and 0 or told and 3 or 1
