-- force deletes a fair lock whoever holds it and wakes the next in the queue, which stays.
--
-- KEYS[1]  lock hash
-- KEYS[2]  queue
-- KEYS[3]  timeouts
-- KEYS[4]  alive
-- ARGV[1]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[2]  base channel; a waiter's own is this, a colon and the waiter
--
-- Answers 1, or 0 when nobody held the lock.

redis.call('hlen', KEYS[1]) -- a key of another type is refused before anything is written
local held = redis.call('del', KEYS[1])
if held == 1 then
  local head = front(true)
  if head and ARGV[1] ~= '' then
    redis.pcall(ARGV[1], ARGV[2] .. ':' .. head, '0') -- refused to a user who may not publish: the waiter polls
  end
end
return held
