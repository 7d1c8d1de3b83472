-- lone ends all holds of an owner. Where nobody sits in the row, and nobody is to sit down, that is the whole release. It is
-- the first prelude of pass, before those that define functions: an execution makes each of them anew, which is felt where
-- there is little else to do.
--
-- KEYS[1]  lock hash: field = owner, value = holds
-- ARGV[1]  owner who gives
-- ARGV[2]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]  wake channel
-- ARGV[4]  row
-- ARGV[5]  0 if the lock is to be passed to nobody
-- ARGV[6]  optional: that there is more to do
--
-- Answers 1, or nothing when there is more to do; had is then 1 if the owner held the lock, else 0, and first is who was the
-- first in the row, if it was looked at.
--
-- HDEL is the first write because it is allowed on a server that is out of memory, and after it the others are.

local had, first = redis.call('hdel', KEYS[1], ARGV[1])
if had == 1 and ARGV[5] ~= '0' and not ARGV[6] then
  first = redis.pcall('zpopmin', ARGV[4])
  if not first.err and #first == 0 then
    if ARGV[2] ~= '' then
      redis.call(ARGV[2], ARGV[3], '0')
    end
    return 1
  end
end
