-- size sets up a semaphore that is not there, where it was said how many permits it is to have. It is a
-- prelude of acquire and add, and follows the preludes lane, announce and permits.
--
-- KEYS[1]         semaphore: permits available
-- KEYS[3]         permits taken
-- ARGV[#ARGV - 1] permits that it is to have
-- ARGV[#ARGV]     its TTL in milliseconds, 0 for none
--
-- Answers nothing, and takes these arguments away, so that the script has those that it has elsewhere. The
-- script goes on as if the semaphore had been there; those who wait are told of what the script leaves. A
-- second execution finds the semaphore. Permits that outlived an earlier one of the name count as taken, as
-- for try_set.

local ttl, size = table.remove(ARGV), tonumber(table.remove(ARGV))
local made = not available
if made then
  available = size - redis.call('zcard', KEYS[3])
  if ttl == '0' then
    write(false, 'persist', KEYS[3])
    write(false, 'set', KEYS[1], whole(available))
  else
    write(false, 'pexpire', KEYS[3], ttl)
    write(false, 'set', KEYS[1], whole(available), 'px', ttl)
  end
end
