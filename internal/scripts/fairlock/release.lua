-- release ends all holds of an owner and takes the owner out of the queue; if the lock is free then, the next is woken.
--
-- KEYS[1]  lock hash
-- KEYS[2]  queue
-- KEYS[3]  timeouts
-- KEYS[4]  waiters of ours
-- ARGV[1]  owner
-- ARGV[2]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]  base channel; a waiter's own is this, a colon and the waiter
-- ARGV[4]  the owner's patience in milliseconds, which those behind it get back
--
-- Answers 1, or 0 when the owner held nothing.
--
-- HDEL is the first write because it is allowed on a server that is out of memory. The next is also woken when it was
-- not this owner who freed the lock: a lease that runs out wakes nobody, and the message before this one may have gone
-- to an owner who left. While another holds, a waiter of ours that becomes the next is told for how many milliseconds.

local held = redis.call('hdel', KEYS[1], ARGV[1])
if drop(ARGV[1]) > 0 then
  local place = redis.call('lpos', KEYS[2], ARGV[1])
  if place then
    local behind = redis.call('lrange', KEYS[2], place + 1, -1)
    redis.call('lrem', KEYS[2], 1, ARGV[1])
    subtract(behind, ARGV[4])
    if place == 0 then -- of a lock that is free, its message tells the next
      tell(behind[1], ARGV[2], ARGV[3], redis.call('pttl', KEYS[1]))
    end
  end
end
if redis.call('exists', KEYS[1]) == 0 then
  local head = front(true)
  if head and ARGV[2] ~= '' then
    redis.call(ARGV[2], ARGV[3] .. ':' .. head, '0')
  end
end
return held
