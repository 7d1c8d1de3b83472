-- force deletes a fair lock whichever owner holds it, and wakes the next in the queue, which stays.
-- KEYS[1-5]  lock hash; queue; timeouts; alive; never there: while their slot moves the script is refused
-- ARGV[1]    PUBLISH or SPUBLISH; empty for no message
-- ARGV[2]    base channel; a waiter's own is this, a colon and the waiter
-- ARGV[3]    optional: row; the channel of a process is this, a colon and its session
--
-- The holder's process hears that what it knows of the lock is old news.
--
-- Answers 1, or 0 when no owner held the lock.

local holder = redis.call('hgetall', KEYS[1])[1] -- a key of another type is refused before anything is written
local held = redis.call('del', KEYS[1])
if held == 1 then
  local process = listens(holder, ARGV[1], ARGV[3])
  if process then
    redis.pcall(ARGV[1], process, 'v')
  end
  local head = front(true)
  if head and ARGV[1] ~= '' then
    redis.pcall(ARGV[1], address(head, ARGV[1], ARGV[2], ARGV[3], '0')) -- refused to a user who may not publish: the waiter polls
  end
end
return held
