-- pass_all does for several locks what pass does for one. It follows pass, with its preludes, as the function pass.
--
-- KEYS[i]          for each of n locks, its hash
-- KEYS[n + i]      for each of those that have one, the four of its row, one after another; left out where they cannot be had
-- ARGV[1]          PUBLISH or SPUBLISH
-- ARGV[2]          n
-- ARGV[2*i + 1]    owner who gives
-- ARGV[2*i + 2]    wake channel; empty for a lock that has no row, and whose waiters are not told
--
-- Behind those, for each lock, the lease of who is passed the lock, in milliseconds; or three numbers: that, for how many
-- milliseconds the lock has gone round, without its being free for longer than a moment, and for how many it is free for
-- outsiders only, if there are any, 0 to pass it whoever waits.
--
-- Answers an array: for each lock what pass answers.

local n = tonumber(ARGV[2])
for i = 1, n do -- a key that is no hash is refused before anything is written
  redis.call('hexists', KEYS[i], ARGV[2 * i + 1])
end
local passed, rows, each = {}, n, (#ARGV - 2) / n - 2
for i = 1, n do
  local owner, channel, more = ARGV[2 * i + 1], ARGV[2 * i + 2], 2 * n + 2 + each * (i - 1)
  if channel == '' then
    passed[i] = redis.call('hdel', KEYS[i], owner)
  else
    local keys, args = {KEYS[i]}, {owner, ARGV[1], channel, ARGV[more + 1]}
    for k = 1, 4 do
      keys[1 + k] = KEYS[rows + k]
    end
    rows = rows + 4
    if each == 3 then
      args[5], args[6], args[7], args[8], args[9] = '', '0', ARGV[more + 2], ARGV[more + 3], '0'
    end
    passed[i] = pass(keys, args)
  end
end
return passed
