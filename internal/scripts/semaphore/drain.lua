-- drain takes all permits.
-- KEYS[1-2]  semaphore: permits available; lanes of the session; ARGV[1-2]  see once
--
-- Answers the number there was, 0 when there is no semaphore; a negative number too is answered and set to 0.

if not value or tonumber(value) == 0 then
  return replica() or '0'
end
return (change(false, value, 'decrby', KEYS[1], value))
