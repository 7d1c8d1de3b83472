-- withdraw takes back the announcement of a writer that waits no longer, and wakes the readers that it kept out.
-- KEYS[1-3]  lock hash; list of our readers; record of strangers: see strangers
-- KEYS[4]    announcements of waiting writers: sorted set of session = deadline
-- KEYS[i]    what queue is about
-- ARGV[1-3]  session; PUBLISH or SPUBLISH, empty for no message; wake channel
-- ARGV[i]    the last five, for queue
--
-- Answers 1, or 0 when nothing was announced.

if redis.call('zrem', KEYS[4], ARGV[1]) == 0 then
  return 0
end
if ARGV[2] ~= '' then
  wake(ARGV[2], ARGV[3], '1')
end
return 1
