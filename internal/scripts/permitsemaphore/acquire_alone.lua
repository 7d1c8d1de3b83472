-- acquire_alone is the whole acquisition of one permit with a lease where one is available and the id is new. It is a prelude of
-- acquire, between the preludes once and settle of the lanes. What has expired stays where it is: a script that finds too few puts
-- it back.
-- KEYS[1]  semaphore: permits available
-- KEYS[3]  permits taken
-- ARGV[6]  lease in milliseconds, -1 for none
-- ARGV[8]  id
--
-- Answers as acquire, or nothing when there is more to do; then nothing was changed.

local value, lease = redis.call('get', KEYS[1]), tonumber(ARGV[6])
if value and #value < 16 and lease >= 0 and string.find(value, '^[1-9]%d*$') then
  local time = redis.call('time')
  local ends = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + lease)
  redis.call('decrby', KEYS[1], '1')
  local new = redis.pcall('zadd', KEYS[3], 'NX', ends, ARGV[8])
  if new ~= 1 then
    redis.call('decrby', KEYS[1], '-1')
  end
  if type(new) == 'table' then
    error('nothing was changed: ' .. new.err, 0)
  elseif new == 1 then
    local ttl = redis.call('pttl', KEYS[1])
    if ttl < 0 then
      redis.call('persist', KEYS[3])
    else
      redis.call('pexpire', KEYS[3], string.format('%.0f', math.max(ttl, 1)))
    end
    return 1
  end
end
