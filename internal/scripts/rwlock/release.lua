-- release ends all holds of an owner on one side, and tells those that wait what they can have.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[i]    from the fourth on, the owner's markers, as many as the holds to read that it ever had; behind these what the prelude
--            queue is about, the key that is never there, and markers for which the script has asked
-- ARGV[1-5]  field of the owner; PUBLISH or SPUBLISH, empty for no message; wake channel; message; how many markers
-- ARGV[6]    field of the write holds of a fresh owner, which is to hold if no other process waits; empty: none
-- ARGV[7]    the latter's lease in milliseconds
-- ARGV[8]    optional, of a reader: there if readers that stay are to leave the lock to outsiders, should some wait
-- ARGV[i]    the last five, for queue
--
-- Answers 1, or 4 when other processes come before that of the candidate; or 6 when the owner of ARGV[6] holds (see leave); or 0 when the
-- owner held nothing, which has it leave the queue.
--
-- The lock lasts from now on as long as the longest promise among the readers who are alive, and is held for reading; the dead are
-- dropped: a read hold of the writer must not turn its release into a downgrade. Where only readers without marker are left the waiters are
-- woken too, to learn how long these may last. By the release of a writer readers that wait can come in. Where a reader leaves that reads
-- beside a writer nothing else is touched: the TTL is the writer's.

local writer, found = string.match(ARGV[1], '^(.*):write$'), nil
if held == 1 and (writer or redis.call('hget', lock, 'mode') == 'read') then
  found = look(ARGV[1])
  if #asked > 0 then
    return ask()
  end
end
redis.call('hdel', lock, ARGV[1])
for i = 4, 3 + ARGV[5] do
  redis.call('del', KEYS[i])
end
if not writer then
  redis.call('zrem', readers, ARGV[1])
end
if held == 0 then
  if row then
    depart(writer or ARGV[1], ARGV[2], ARGV[3])
  end
  return 0
end
local marked = found and remain(found) or 0
if writer and marked ~= -1 then
  redis.call('hset', lock, 'mode', 'read')
elseif marked > 0 and #ARGV > 12 then
  attend(announced, ARGV[2], ARGV[3], row)
end
return hand_on(ARGV[2], ARGV[3], ARGV[4], writer or found and marked <= 0)
