-- leave takes a holder out of a lock of which nothing but the mode is left then, and frees it. It is joined in front of both
-- releases, ahead of the preludes. Their first keys and arguments are the same:
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[2]  list of our readers
-- KEYS[3]  record of strangers
-- KEYS[i]  from the fourth on, the holder's markers; behind these what the prelude queue is about
-- ARGV[1]  field of the holder
-- ARGV[2]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]  wake channel
-- ARGV[4]  message
-- ARGV[5]  how many markers
--
-- Answers 1, or nothing when there is more to do, or a process in the queue; held is then 1 if the holder holds the lock, else 0.

local held = redis.call('hexists', KEYS[1], ARGV[1])
local queue = KEYS[tonumber(ARGV[#ARGV])]
if held == 1 and redis.call('hlen', KEYS[1]) == 2
  and (queue ~= ARGV[#ARGV - 1] or ARGV[#ARGV - 4] == '' and redis.pcall('exists', queue) == 0) then
  local last = 3 + ARGV[5]
  for i = 1, last, 100 do
    redis.call('del', unpack(KEYS, i, math.min(i + 99, last)))
  end
  if ARGV[2] ~= '' then
    redis.call(ARGV[2], ARGV[3], ARGV[4])
  end
  return 1
end
