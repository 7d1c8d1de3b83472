-- raise gives permits back and wakes the waiters. It is a prelude, and follows lane and announce.
-- KEYS[1]    semaphore: permits available
-- ARGV[4-6]  PUBLISH or SPUBLISH, wake channel, row
--
-- Answers of the function: the reply that it is told, which the lane remembers. The new total is published if it is
-- above 0. A semaphore that is created could not be taken back wholly, so what may be refused comes first.

local function raise(reply, permits)
  local answer, total = change(true, reply, 'incrby', KEYS[1], permits)
  if total > 0 then
    announce(ARGV[4], ARGV[5], ARGV[6], decimal(total), total)
  end
  return answer
end
