-- acquire_all takes several locks, each for a fresh owner, if all of them are free.
-- KEYS[i]        for each of n locks, its hash: field = owner, value = holds
-- KEYS[n + i]    the key that says that it is free for outsiders only (see row), its hash where it has none; left out by a call that
--                does not leave the locks to them
-- ARGV[2*i - 1]  owner
-- ARGV[2*i]      lease in milliseconds
--
-- Answers an array of two. The first is 0 when the owners hold all the locks, by this execution or by an
-- earlier one of the same command; else the number of the first lock that another owner holds, and then the
-- second is the milliseconds that its lease still lasts, 0 or more, or -1 when its key has no TTL; or n more
-- than the number of the first lock that is free for outsiders only, and for how many milliseconds.
-- One EXISTS tells that all are free, as they mostly are: each command that a script calls is felt.

local n = #ARGV / 2
local taken, mine = {}, 0
if redis.call('exists', unpack(KEYS)) > 0 then
  for i = 1, n do
    local remaining = redis.call('pttl', KEYS[i])
    taken[i] = remaining ~= -2 -- no such key
    if taken[i] and redis.call('hexists', KEYS[i], ARGV[2 * i - 1]) == 0 then
      return {i, remaining}
    end
    mine = mine + (taken[i] and 1 or 0)
  end
  for i = mine == n and #KEYS + 1 or n + 1, #KEYS do
    local left = KEYS[i] ~= KEYS[i - n] and redis.call('pttl', KEYS[i]) or 0
    if left > 0 then
      return {i, left}
    end
  end
end
for i = 1, n do
  if not taken[i] then
    take(KEYS[i], ARGV[2 * i - 1], ARGV[2 * i])
  end
end
return {0, 0}
