-- release_alone is the whole release where no process waits in the row and the lane was used in the same half minute.
-- It is a prelude of release, between the preludes once and settle.
-- KEYS[1-2]    semaphore: permits available; lanes of the session
-- KEYS[#KEYS]  row, where it can be used
-- ARGV[1-5]    lane, sequence number; permits to give back; PUBLISH or SPUBLISH, wake channel
--
-- Answers as release, or nothing when there is more to do; then nothing was changed.

if settled and math.floor(sequence / round) == math.floor(settled / round) and redis.pcall('exists', KEYS[#KEYS]) == 0 then
  local total = redis.pcall('incrby', KEYS[1], ARGV[3])
  if type(total) == 'number' then
    local refused = redis.pcall('hset', KEYS[2], ARGV[1], ARGV[2] .. ':1')
    if type(refused) == 'table' then
      redis.call('incrby', KEYS[1], '-' .. ARGV[3])
      error('nothing was changed: ' .. refused.err, 0)
    end
    if total > 0 then
      local exact = total < 9007199254740992
      redis.pcall(ARGV[4], ARGV[5], exact and string.format('%.0f', total) or redis.call('get', KEYS[1]))
    end
    return 1
  end
end
