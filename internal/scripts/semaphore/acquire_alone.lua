-- acquire_alone is the whole acquisition of a caller that does not wait, where enough permits are left and the lane was used in the
-- same half minute. It is a prelude of acquire, behind once and value and in front of settle.
-- KEYS[1-2]  semaphore: permits available; lanes of the session
-- ARGV[1-3]  lane, sequence number; permits that the caller wants, 1 or more
--
-- Answers as acquire, or nothing when there is more to do; then nothing was changed.

if settled and math.floor(sequence / round) == math.floor(settled / round) and tonumber(value or '0') >= tonumber(ARGV[3])
  and type(redis.pcall('decrby', KEYS[1], ARGV[3])) == 'number' then
  local refused = redis.pcall('hset', KEYS[2], ARGV[1], ARGV[2] .. ':1')
  if type(refused) == 'table' then
    redis.call('incrby', KEYS[1], ARGV[3])
    error('nothing was changed: ' .. refused.err, 0)
  end
  return 1
end
