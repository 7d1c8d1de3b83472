-- cancel_acquire gives back what the operation before this one in its lane has taken, if it has, and bars it from
-- taking effect later. It follows the preludes lane and announce.
--
-- KEYS[1]      semaphore: permits available
-- KEYS[2]      lanes of the session
-- ARGV[1]      lane
-- ARGV[2]      sequence number, one above that of the acquisition
-- ARGV[3]      PUBLISH or SPUBLISH
-- ARGV[4]      wake channel
-- ARGV[5]      row
-- ARGV[6]      permits that the acquisition wanted
--
-- Answers what the acquisition had answered, 1 and how many it had taken beside; or 0 if it had served
-- nobody.
--
-- An acquisition that served no caller is not stored.

if settled ~= sequence - 1 then
  return settle('0')
end
local served = answer
if redis.call('exists', KEYS[1]) == 0 then
  return settle(served)
end
local back = tonumber(ARGV[6]) + tonumber(served) - 1
local _, total = change(true, served, 'incrby', KEYS[1], string.format('%.0f', back))
total = decimal(total)
if tonumber(total) > 0 then
  announce(ARGV[3], ARGV[4], ARGV[5], total, tonumber(total))
end
return served
