-- here ends a release where there is no semaphore. It is a prelude, between the preludes once and settle.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
--
-- Answers 0 where there is no semaphore; then nothing was changed. Else the release goes on.

if redis.call('exists', KEYS[1]) == 0 then
  local reply = redis.pcall('hdel', KEYS[2], '') -- which changes nothing, and a replica refuses: its master may have the semaphore
  if type(reply) == 'table' and string.find(reply.err, 'READONLY', 1, true) then
    return reply
  end
  return 0
end
