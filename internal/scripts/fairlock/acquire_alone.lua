-- acquire_alone is how an acquisition begins: where no owner waits it ends here, before the rest has cost anything.
-- KEYS[1-4], ARGV[1-2], ARGV[8]  as acquire has them
--
-- Answers what acquire does: of an owner that holds, three numbers.

local ttl = redis.call('pttl', KEYS[1])
if ttl == -2 then
  if (not ARGV[8] or ARGV[8] == '0') and redis.call('exists', KEYS[2], KEYS[3], KEYS[4]) == 0 then
    take(KEYS[1], ARGV[1], ARGV[2])
    return {1, 0, -1}
  end
elseif redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  if ttl >= 0 and ttl < tonumber(ARGV[2]) then -- it was handed the lock, for a shorter time
    redis.call('pexpire', KEYS[1], ARGV[2])
  end
  return {1, 0, -1}
end
