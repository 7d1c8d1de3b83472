-- withdraw takes back the announcement of a writer that waits no longer, and wakes the readers that it kept out.
--
-- KEYS[1]  announcements of waiting writers: sorted set of session = deadline
-- ARGV[1]  session
-- ARGV[2]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]  wake channel
--
-- Answers 1, or 0 when nothing was announced.

if redis.call('zrem', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if ARGV[2] ~= '' then
  redis.call(ARGV[2], ARGV[3], '1')
end
return 1
