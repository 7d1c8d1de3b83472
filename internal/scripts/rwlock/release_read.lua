-- release_read ends all read holds of an owner and wakes the waiters when it was the last reader known to be alive.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[i]    the owner's marker i-3, for i = 4 to three more than the most holds it ever had; behind these what
--            the prelude queue is about, the key that is never there, and markers for which the script has asked
-- ARGV[1]    owner
-- ARGV[2]    PUBLISH or SPUBLISH; empty for no message
-- ARGV[3-5]  wake channel; message; the most holds that the owner ever had
-- ARGV[6]    field of the write holds of a fresh owner, which is to hold if no other process waits; empty: none
-- ARGV[7]    the latter's lease in milliseconds
-- ARGV[8]    optional: there if readers that stay are to leave the lock to outsiders, should some wait
-- ARGV[i]    the last five, for queue
--
-- Answers 1, or 4 when other processes come before that of the candidate; or 6 when the owner of ARGV[6] holds (see leave); or 0 when the
-- owner did not read, which has it leave the queue.
--
-- The lock lasts from now on as long as the longest promise among the readers who are alive; the dead are dropped. Where
-- only readers without marker are left the waiters are woken too, to learn how long these may last. In write mode
-- nothing else is touched: the TTL is the writer's.
--
-- HDEL is the first write because it is allowed on a server that is out of memory, and after it the others are.

local found
if held == 1 and redis.call('hget', lock, 'mode') == 'read' then
  found = look(ARGV[1])
  if #asked > 0 then
    return ask()
  end
end
redis.call('hdel', lock, ARGV[1])
for i = 4, 3 + ARGV[5] do
  redis.call('del', KEYS[i])
end
redis.call('zrem', readers, ARGV[1])
if held == 0 then
  if row then
    depart(ARGV[1], ARGV[2], ARGV[3])
  end
  return 0
end
local marked = found and remain(found) or 0
if marked > 0 and #ARGV > 12 then
  attend(announced, ARGV[2], ARGV[3], row)
end
return hand_on(ARGV[2], ARGV[3], ARGV[4], found and marked <= 0)
