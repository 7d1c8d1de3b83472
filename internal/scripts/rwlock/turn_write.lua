-- turn_write ends all read holds of an owner and takes the lock for a fresh one for writing, without its ever being free. While
-- others read it only ends the holds.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[i]    the marker i-3 of the owner that gives, for i = 4 to three more than the most holds it ever had; behind these what
--            the prelude queue is about, the key that is never there, and markers for which the script has asked
-- ARGV[1-2]  owner that gives; PUBLISH or SPUBLISH, empty for no message
-- ARGV[3-5]  wake channel; message; field of the write holds of the one that is given
-- ARGV[6-7]  the latter's lease in milliseconds; the most holds that the owner that gives ever had
-- ARGV[i]    the last five, for queue
--
-- Answers -3 when the latter holds the lock, by this execution or by an earlier one of the same command; -4 when neither of the
-- two did; else the milliseconds until the longest promise of the other readers is over, or -1 when it has no end: the holds have
-- ended, and no owner was given anything.
--
-- Where only readers without marker are left the waiters are woken, as by release.

if redis.call('hexists', lock, ARGV[5]) == 1 then
  return -3
end
local held, mode, found = redis.call('hexists', lock, ARGV[1]), redis.call('hget', lock, 'mode'), nil
if held == 1 and mode ~= 'write' then
  found = look(ARGV[1])
  if #asked > 0 then
    return ask()
  end
end
redis.call('hdel', lock, ARGV[1])
for i = 4, 3 + ARGV[7] do
  redis.call('del', KEYS[i])
end
redis.call('zrem', readers, ARGV[1])
if held == 0 then
  return -4
end
if mode == 'write' then -- not that of an owner that only reads
  return redis.call('pttl', lock)
end
local marked = remain(found)
if marked == -1 then
  redis.call('hset', lock, 'mode', 'write', ARGV[5], '1')
  redis.call('pexpire', lock, ARGV[6])
  return -3
end
if marked == 0 and ARGV[2] ~= '' then
  wake(ARGV[2], ARGV[3], ARGV[4])
end
return redis.call('pttl', lock)
