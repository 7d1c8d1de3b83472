-- keep gives back permits, unless no other process than that which has them waits for some. It follows the preludes lane, announce
-- and others.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  permits
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  wake channel
-- ARGV[6]  row
-- ARGV[7]  session
--
-- Answers 1 when the process keeps the permits; 2 when they are given back, as release does, and a connection listens that is not
-- known to be of this library; else 0, and they are given back. A semaphore that does not exist, or has fewer than no
-- permits, gets them back.

local available = redis.call('get', KEYS[1])
local kept = '0'
if available and (tonumber(available) or -1) >= 0 then
  kept = others(ARGV[4], ARGV[5], ARGV[6], ARGV[7])
end
if kept == '1' then
  return settle(kept)
end
local answer, total = change(true, kept, 'incrby', KEYS[1], ARGV[3])
total = decimal(total)
if tonumber(total) > 0 then
  announce(ARGV[4], ARGV[5], ARGV[6], total, tonumber(total))
end
return answer
