-- confirm_read finds out whether an owner still reads, lengthens its promise if so, and tells whether others wait for the lock.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[4]    announcements of waiting writers: sorted set of session = deadline by the server's clock in milliseconds
-- KEYS[i]    the owner's marker i-4, for i = 5 to four more than the most holds it ever had; behind these what the prelude queue is about
-- ARGV[1-4]  owner; milliseconds that its promise is lengthened to; PUBLISH or SPUBLISH; wake channel
-- ARGV[5-6]  how many connections of the asking process listen there; the most holds that the owner ever had
-- ARGV[i]    the last five, for queue
--
-- Answers 0 when the owner does not read any more, 1 when it does and no other process seems to wait, else 2.
-- Others wait if a writer has announced itself, if more listen to the wake channel, or if that cannot be
-- known. Those that stand in no queue are announced then. It shortens nothing, and makes no reader.

local reads = keep(ARGV[1], 5, tonumber(ARGV[6]), tonumber(ARGV[2]))
if reads ~= 1 then
  return reads
end
if attend(KEYS[4], ARGV[3], ARGV[4], row) > tonumber(ARGV[5]) then
  return 2
end
local latest = redis.call('zrange', KEYS[4], -1, -1, 'withscores')[2]
if latest and tonumber(latest) > clock() then
  return 2
end
return 1
