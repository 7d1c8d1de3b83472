-- lone ends all holds of an owner. Where there is no row, or no process stands in it and none is to enter it, that is the whole release. It is
-- the first prelude of pass and close, before those that define functions: an execution makes each of them anew, which is felt where
-- there is little else to do.
-- KEYS[1]    lock hash: field = owner, value = holds
-- KEYS[at]   row; it and those behind it are left out where they cannot be had
-- ARGV[1-9]  as pass and close have them. Where there is no row the owner of ARGV[9] does not hold, and what an earlier execution of
--            the same command with a row has given it is taken back
--
-- Answers as pass and close do, or nothing when there is more to do; had is then 1 if the owner held the lock, else 0, and first is who
-- was the first in the row, if it was looked at.

local row = KEYS[at]
local had, first = redis.call('hdel', KEYS[1], ARGV[1])
if row and had == 1 and ARGV[4] ~= '0' and not ARGV[5] then
  first = redis.pcall('zpopmin', row)
elseif not row and had == 0 and ARGV[9] then
  had = redis.call('hdel', KEYS[1], ARGV[9])
end
if not row or first and not first.err and #first == 0 then
  if had == 1 and ARGV[2] ~= '' then
    redis.call(ARGV[2], ARGV[3], '0')
  end
  local outcome = had == 1 and (ARGV[6] or '0') ~= '0' and 2 or had
  return ARGV[7] and {outcome, 0, '0', 0} or outcome
end
