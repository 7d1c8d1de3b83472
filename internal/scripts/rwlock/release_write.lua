-- release_write ends all write holds of an owner and wakes the waiters. If the owner still reads, the lock is held for
-- reading from now on.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[i]    what the prelude queue is about, the key that is never there, and markers for which the script has asked
-- ARGV[1]    field of the write holds
-- ARGV[2]    PUBLISH or SPUBLISH; empty for no message
-- ARGV[3-5]  wake channel; message; 0
-- ARGV[6]    field of the write holds of a fresh owner, which is to hold if no other process waits; empty: none
-- ARGV[7]    the latter's lease in milliseconds
-- ARGV[i]    the last five, for queue
--
-- Answers 1, or 4 when other processes come before that of the candidate; or 6 when the owner of ARGV[6] holds (see leave); or 0 when the
-- owner did not write, which has it leave the queue.
--
-- A read hold of the writer whose promise is over is dropped: it must not turn the release into a downgrade. After a
-- downgrade the lock lasts as long as the longest promise of a reader. The message is sent in both cases: readers that
-- wait can come in.

if held == 0 then
  if row then
    depart(string.match(ARGV[1], '^(.*):write$'), ARGV[2], ARGV[3])
  end
  return 0
end
local found = look(ARGV[1])
if #asked > 0 then
  return ask()
end
redis.call('hdel', lock, ARGV[1]) -- allowed on a server that is out of memory, and after it the others are
if remain(found) ~= -1 then
  redis.call('hset', lock, 'mode', 'read')
end
return hand_on(ARGV[2], ARGV[3], ARGV[4], true)
