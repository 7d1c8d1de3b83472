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
-- ARGV[i]      from 6 on, as the acquisition had them: permits that each caller of a run wanted
-- ARGV[i + 1]  their number
--
-- Answers how many callers the acquisition had served.
--
-- An acquisition that served nobody is not stored, so the stored answer of one is how many took their permits.

if settled ~= sequence - 1 then
  return settle('0')
end
local served, back = answer, 0
if redis.call('exists', KEYS[1]) == 0 then
  return settle(served)
end
local left = tonumber(served)
for i = 6, #ARGV, 2 do
  local run = math.min(left, tonumber(ARGV[i + 1]))
  left, back = left - run, back + run * tonumber(ARGV[i])
end
local _, total = change(true, served, 'incrby', KEYS[1], string.format('%.0f', back))
total = decimal(total)
if tonumber(total) > 0 then
  announce(ARGV[3], ARGV[4], ARGV[5], total, tonumber(total))
end
return served
