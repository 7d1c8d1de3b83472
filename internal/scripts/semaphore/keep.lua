-- keep gives back permits, unless no other process than that which has them waits for some.
-- KEYS[1-2]  semaphore: permits available; lanes of the session; ARGV[1-2]  see once
-- ARGV[3-7]  permits; PUBLISH or SPUBLISH, wake channel, row; session
--
-- Answers 1 when the process keeps the permits; 2 when they are given back, as release does, and a connection listens
-- that is not known to be of this library; else 0, and they are given back. A semaphore that does not exist, or has
-- fewer than no permits, gets them back.

local available, kept = redis.call('get', KEYS[1]), '0'
if available and (tonumber(available) or -1) >= 0 then
  kept = others(ARGV[4], ARGV[5], ARGV[6], ARGV[7])
end
return kept == '1' and settle(kept) or raise(kept, ARGV[3])
