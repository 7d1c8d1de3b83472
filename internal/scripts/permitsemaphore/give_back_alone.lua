-- give_back_alone is the whole release of one permit where its id is there and no process waits in the row. It is the first prelude
-- of give_back. It does not ask whether the lease is over: while the id is there, no other holder has the permit.
-- KEYS[1-2], ARGV[1-2], ARGV[4]  as give_back has them, of one id
-- KEYS[#KEYS]  row, where it can be used
--
-- Answers as give_back, or nothing when there is more to do; then nothing was changed.

local value = redis.call('get', KEYS[1])
if value and #value < 16 and string.find(value, '^-?%d+$') and redis.pcall('exists', KEYS[#KEYS]) == 0 then
  local total = redis.pcall('incrby', KEYS[1], '1') -- first, as in giveBack
  if type(total) == 'number' then
    local removed = redis.pcall('zrem', KEYS[2], ARGV[4])
    if removed == 1 then
      if total > 0 then
        redis.pcall(ARGV[1], ARGV[2], string.format('%.0f', total))
      end
      return 1
    end
    redis.call('incrby', KEYS[1], '-1')
    if type(removed) == 'table' then
      error('nothing was changed: ' .. removed.err, 0)
    end
  end
end
