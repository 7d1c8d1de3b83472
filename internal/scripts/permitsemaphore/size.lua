-- size sets up a semaphore that is not there, as the prelude of that name in semaphore does.
-- ARGV[#ARGV - 1 to #ARGV]  permits that it is to have; its TTL in milliseconds, 0 for none

local ttl, size = table.remove(ARGV), tonumber(table.remove(ARGV))
local made = not available
if made then
  make(size, ttl)
end
