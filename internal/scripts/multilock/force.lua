-- force frees values whichever owners have them, and wakes the waiters.
-- KEYS[1]    group hash: value = owner, value:owner:expire_time, value:owner:lock_count
-- ARGV[1-2]  PUBLISH or SPUBLISH; wake channel
-- ARGV[i]    from ARGV[3] on the values, as hashed
--
-- Answers 1, or 0 when no owner had any of them.

local now = clock()
local had = 0
for i = 3, #ARGV do
  local owner = redis.call('hget', KEYS[1], ARGV[i])
  if owner then
    if deadline(KEYS[1], ARGV[i], owner) > now then
      had = 1
    end
    forget(KEYS[1], ARGV[i], owner)
  end
end
if had == 1 then
  redis.pcall(ARGV[1], ARGV[2], '0') -- refused to a user who may not publish: the waiters poll
end
return had
