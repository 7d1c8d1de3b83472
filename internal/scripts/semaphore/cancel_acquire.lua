-- cancel_acquire gives back what the operation before this one in its lane has taken, if it has, and bars it from
-- taking effect later.
-- KEYS[1-2]  semaphore: permits available; lanes of the session
-- ARGV[1-2]  lane, sequence number: one above that of the acquisition
-- ARGV[3-6]  permits that the acquisition wanted; PUBLISH or SPUBLISH, wake channel, row
--
-- Answers what the acquisition had answered to a caller that was served; or 0, for one that served none is not stored.

if settled ~= sequence - 1 or redis.call('exists', KEYS[1]) == 0 then
  return settle(settled == sequence - 1 and answer or '0')
end
return raise(answer, string.format('%.0f', ARGV[3] + (answer - 1) / 8))
