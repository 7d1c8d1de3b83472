-- leave takes the candidate of a process out of the queue of a semaphore, when no call of the process waits any more. One that
-- was told, and did not ask, has the next one told.
-- KEYS[1-2]  semaphore: permits available; process queue
-- ARGV[1-3]  PUBLISH or SPUBLISH; wake channel; candidate
--
-- Answers 1 if it stood in the queue and was not told, else 0.

if quit(KEYS[2], ARGV[3]) then
  return 1
end
local permits = tonumber(redis.call('get', KEYS[1]) or '0')
if permits and permits > 0 then
  tell(ARGV[1], ARGV[2], KEYS[2], permits)
end
return 0
