-- pass_all does for several locks what pass does for one. It follows pass, with its preludes, as the function pass.
--
-- KEYS[i]          for each of n locks, its hash
-- KEYS[n + i]      for each of those that have one, the four of its row, one after another; left out where they cannot be had
-- ARGV[6*i - 5]    owner who gives
-- ARGV[6*i - 4]    PUBLISH or SPUBLISH; empty for a lock without a row, and without a message
-- ARGV[6*i - 3]    wake channel
-- ARGV[6*i - 2]    lease of who is passed the lock, in milliseconds
-- ARGV[6*i - 1]    for how many milliseconds the lock has gone round, without its being free for longer than a moment
-- ARGV[6*i]        for how many milliseconds it is free for outsiders only, if there are any; 0 to pass it whoever waits
--
-- Answers an array: for each lock what pass answers.

local passed = {}
local n = #ARGV / 6
local rows = n
for i = 1, n do -- a key that is no hash is refused before anything is written
  redis.call('hexists', KEYS[i], ARGV[6 * i - 5])
end
for i = 1, n do
  local at = 6 * i - 5
  if ARGV[at + 1] == '' then
    passed[i] = redis.call('hdel', KEYS[i], ARGV[at])
  else
    local keys, args = {KEYS[i]}, {ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]}
    for k = 1, 4 do
      keys[1 + k] = KEYS[rows + k]
    end
    rows = rows + 4
    if ARGV[at + 4] ~= '0' or ARGV[at + 5] ~= '0' then
      args[5], args[6], args[7], args[8], args[9] = '', '0', ARGV[at + 4], ARGV[at + 5], '0'
    end
    passed[i] = pass(keys, args)
  end
end
return passed
