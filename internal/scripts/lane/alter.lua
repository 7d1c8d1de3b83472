-- alter removes a counter, or sets or removes its TTL, and does the same to what belongs to it.
-- KEYS[1-2]  counter; lanes of the session
-- KEYS[3]    optional: what belongs to the counter
-- ARGV[1-2]  lane, sequence number
-- ARGV[3-4]  del, pexpire or persist; for pexpire: TTL in milliseconds, 1 or more
--
-- Answers 1, or 0 when there is nothing to change. What belongs to a counter that is gone can be removed.

local there = redis.call('exists', ARGV[3] == 'del' and KEYS[3] or KEYS[1], KEYS[1])
if there == 0 or ARGV[3] == 'persist' and redis.call('pttl', KEYS[1]) < 0 then
  return replica() or 0
end
local answer = change(true, '1', ARGV[3], KEYS[1], unpack(ARGV, 4))
if KEYS[3] then
  redis.call(ARGV[3], KEYS[3], unpack(ARGV, 4))
end
return answer
