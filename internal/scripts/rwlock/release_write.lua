-- release_write ends all write holds of an owner and wakes the waiters. If the owner still reads, the lock is held for
-- reading from now on.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- ARGV[1]  field of the write holds
-- ARGV[2]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]  wake channel
-- ARGV[4]  stem of all markers of the lock, without the colon after it
--
-- Answers 1, or 0 when the owner did not write.
--
-- A read hold of the writer whose promise is over is dropped: it must not turn the release into a downgrade. After a
-- downgrade the lock lasts as long as the longest promise of a reader. The message is sent in both cases: readers that
-- wait can come in.
--
-- HDEL is the first write because it is allowed on a server that is out of memory.

if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local found = survey(KEYS[1], ARGV[4])
if found.longest == 0 then
  free(KEYS[1])
else
  drop(KEYS[1], found.dead)
  redis.call('hset', KEYS[1], 'mode', 'read')
  if found.longest > 0 then
    redis.call('pexpire', KEYS[1], string.format('%.0f', found.longest))
  end
  if found.unmarked > 0 then
    note(KEYS[1])
  end
end
if ARGV[2] ~= '' then
  redis.call(ARGV[2], ARGV[3], '1')
end
return 1
