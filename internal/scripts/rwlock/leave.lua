-- leave takes a holder out of a lock of which nothing but the mode is left then, and frees it. It is the first prelude of a release.
-- KEYS[i]  as release has them, and ARGV
--
-- Answers 1; or 6 when the owner of ARGV[6] holds, by this execution or by an earlier one of the same command; or nothing when there
-- is more to do, or a process in the queue. held is then 1 if the holder holds the lock, else 0.
--
-- Who waits in another process stands in the queue, or listens to the wake channel and is not known.

local next = ARGV[6]
if next ~= '' and redis.call('hexists', KEYS[1], next) == 1 then
  return 6
end
local held = redis.call('hexists', KEYS[1], ARGV[1])
local queue = KEYS[tonumber(ARGV[#ARGV])]
local there = queue == ARGV[#ARGV - 1]
if held == 1 and redis.call('hlen', KEYS[1]) == 2 then
  if there and next ~= '' then
    redis.pcall('zrem', queue, ARGV[#ARGV - 4])
  end
  local last, lone = 3 + ARGV[5], there and redis.pcall('exists', queue) == 0
  local count = lone and next ~= ''
    and redis.pcall('pubsub', ARGV[2] == 'SPUBLISH' and 'shardnumsub' or 'numsub', ARGV[3], queue .. ':known')
  -- Where either write is refused to the user the lock is released.
  local kept = count and not count.err and tonumber(count[2]) <= tonumber(count[4])
    and type(redis.pcall('pexpire', KEYS[1], ARGV[7])) ~= 'table'
    and type(redis.pcall('hset', KEYS[1], 'mode', 'write', next, '1')) ~= 'table'
  if kept and type(redis.pcall('hdel', KEYS[1], ARGV[1])) == 'table' then -- refused: then the key is made anew
    redis.call('del', KEYS[1])
    redis.call('hset', KEYS[1], 'mode', 'write', next, '1')
    redis.call('pexpire', KEYS[1], ARGV[7])
  end
  if kept or not there or lone and ARGV[#ARGV - 4] == '' then
    for i = kept and 2 or 1, last, 100 do
      redis.call('del', unpack(KEYS, i, math.min(i + 99, last)))
    end
    if kept then
      return 6
    end
    if ARGV[2] ~= '' then
      redis.call(ARGV[2], ARGV[3], ARGV[4])
    end
    return 1
  end
end
