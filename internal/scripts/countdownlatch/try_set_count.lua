-- try_set_count sets the count of a latch that does not exist.
-- KEYS[1-3]  latch: what is still to be counted; lanes of the session; record of the latch
-- ARGV[1-5]  lane; sequence number; count, 1 or more; TTL in milliseconds, 0 for none; PUBLISH or SPUBLISH
-- ARGV[6-7]  wake channel; an epoch for the record, if there is none
--
-- Answers 1, or 0 when there is a latch.

if value then
  return replica() or 0
end
recall()
local now = clock()
change(false, '1')
write(false, 'pexpire', KEYS[1], '1') -- there is no latch, so this only finds out whether start may do it, as the next does
write(false, 'del', KEYS[1])
write(false, 'set', KEYS[1], ARGV[3], unpack(ARGV[4] == '0' and {} or {'px', ARGV[4]}))
start(ARGV[7], tonumber(ARGV[4]), now)
redis.pcall(ARGV[5], ARGV[6], '1')
return 1
