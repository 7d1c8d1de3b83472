-- size sets up a semaphore that is not there, where it was said how many permits it is to have. It is a
-- prelude of acquire and add, and follows the preludes lane, announce, permits and make.
-- ARGV[#ARGV - 1 to #ARGV]  permits that it is to have; its TTL in milliseconds, 0 for none
--
-- Answers nothing, and takes these arguments away, so that the script has those that it has elsewhere. The
-- script goes on as if the semaphore had been there; those who wait are told of what the script leaves. A
-- second execution finds the semaphore.

local ttl, size = table.remove(ARGV), tonumber(table.remove(ARGV))
local made = not available
if made then
  make(size, ttl)
end
