-- release ends all holds of an owner of values and tells the first process that waits for the same ones. Where there is none, or others
-- may listen, it wakes all.
-- KEYS[1-2]  group hash: value = owner, value:owner:expire_time, value:owner:lock_count; process queue, left out where it cannot be had
-- ARGV[1-3]  owner; PUBLISH or SPUBLISH; wake channel
-- ARGV[i]    from ARGV[4] on the values, as hashed
--
-- Answers 1, or 4 when a process was told; or 0 when the owner had not all of the values any more; what it had is free then too.
-- One that had none leaves the queue; if it was told, and has left it, the next one is told, or all.

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
local told, others = false, freed > 0 or KEYS[2] and not quit(KEYS[2], ARGV[1])
if others and KEYS[2] and redis.pcall('exists', KEYS[2]) == 1 then
  told, others = tell(ARGV[2], ARGV[3], KEYS[2], 1)
end
if others then
  redis[freed > 0 and 'call' or 'pcall'](ARGV[2], ARGV[3], '0') -- refused once, so that the caller can say so
end
return had < #ARGV - 3 and 0 or told and 4 or 1
