-- cancel_acquire gives back what the operation before this one in its lane has taken, if it has, and bars it from
-- taking effect later. It follows the prelude lane.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number, one above that of the acquisition
-- ARGV[3]  permits that the acquisition wanted
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  wake channel
--
-- Answers 1 when the acquisition had taken effect, 0 when not.
--
-- An acquisition that was refused is not stored, so a stored one took its permits.

if settled ~= sequence - 1 then
  return settle('0')
end
if redis.call('exists', KEYS[1]) == 0 then
  return settle('1')
end
local total = decimal(insist('incrby', KEYS[1], ARGV[3]))
settle('1')
if tonumber(total) > 0 then
  redis.call(ARGV[4], ARGV[5], total)
end
return '1'
