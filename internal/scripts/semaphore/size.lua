-- size sets up a semaphore that is not there, where it was said how many permits it is to have. It is a prelude.
-- KEYS[1]                  semaphore: permits available
-- ARGV[#ARGV - 4 to - 2]   PUBLISH or SPUBLISH, wake channel, row
-- ARGV[#ARGV - 1 to #ARGV] permits that it is to have, its TTL in milliseconds: 0 for none
--
-- It takes these arguments away, so that the script has those that it has elsewhere. The script goes on as if the semaphore
-- had been there; those who wait are told of what the script leaves. A second execution finds the semaphore.

local ttl, size, line, channel, publish =
  table.remove(ARGV), tonumber(table.remove(ARGV)), table.remove(ARGV), table.remove(ARGV), table.remove(ARGV)
local made = not value
if made then
  value = string.format('%.0f', size)
  write(false, 'set', KEYS[1], value, unpack(ttl == '0' and {} or {'px', ttl}))
end
