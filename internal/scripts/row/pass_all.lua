-- pass_all does for several locks what pass does for one. It follows pass, with its preludes, as the function pass.
-- KEYS[i]        for each of n locks, its hash
-- KEYS[n + i]    for each of those that have one, the keys of its row that pass uses, one after another; left out where they cannot
--                be had
-- ARGV[1-2]      PUBLISH or SPUBLISH; n
-- ARGV[2*i + 1]  owner who gives
-- ARGV[2*i + 2]  wake channel; empty for a lock that has no row, and whose waiters are not told
--
-- Behind those, for each lock, what pass has as ARGV[4], or as ARGV[4-6].
--
-- Answers an array: for each lock what pass answers. A key that is no hash any more is a lost lock, and must not spoil the others.
-- Where no process stands in any of the queues, which one EXISTS tells, each lock is only deleted and its waiters are told.

local n = tonumber(ARGV[2])
local each = (#ARGV - 2) / n - 2
local queues, each_row, behind = {}, each == 1 and 2 or 4, n + 1
for i = 1, n do
  if ARGV[2 * i + 2] ~= '' then
    queues[#queues + 1], behind = KEYS[behind], behind + each_row
  end
end
local vacant = each == 1 and (#queues == 0 or redis.pcall('exists', unpack(queues)) == 0)
local passed, rows = {}, n
for i = 1, n do
  local owner, channel, more = ARGV[2 * i + 1], ARGV[2 * i + 2], 2 * n + 2 + each * (i - 1)
  local had = vacant and redis.pcall('hdel', KEYS[i], owner) or redis.pcall('hexists', KEYS[i], owner)
  if type(had) == 'table' then
    if not string.find(had.err, 'WRONGTYPE', 1, true) then
      return had
    end
    passed[i] = 0
  elseif vacant then
    passed[i] = had
    if had == 1 and channel ~= '' then
      redis.call(ARGV[1], channel, '0')
    end
  elseif channel == '' then
    passed[i] = redis.call('hdel', KEYS[i], owner)
  else
    local args = {owner, ARGV[1], channel, unpack(ARGV, more + 1, more + each)}
    passed[i] = pass({KEYS[i], unpack(KEYS, rows + 1, rows + each_row)}, args)
  end
  rows = channel == '' and rows or rows + each_row
end
return passed
