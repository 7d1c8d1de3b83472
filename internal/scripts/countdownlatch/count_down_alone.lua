-- count_down_alone is the whole count-down where something remains and the lane was used in the same half minute. It is a prelude of
-- count_down, between the preludes once and settle: an execution makes the functions of those that follow anew.
-- KEYS[1-2], ARGV[1-2], ARGV[5]  as count_down has them
--
-- Answers as count_down, or nothing when there is more to do; then nothing was changed.

if settled and math.floor(sequence / round) == math.floor(settled / round) then
  local count = redis.call('get', KEYS[1])
  if count and #count < 16 and string.find(count, '^[1-9]%d*$') and tonumber(count) > tonumber(ARGV[5]) then
    local left = redis.pcall('decrby', KEYS[1], ARGV[5])
    if type(left) == 'number' then
      local refused = redis.pcall('hset', KEYS[2], ARGV[1], ARGV[2] .. ':' .. string.format('%.0f', left))
      if type(refused) == 'table' then
        redis.call('decrby', KEYS[1], '-' .. ARGV[5])
        error('nothing was changed: ' .. refused.err, 0)
      end
      return left
    end
  end
end
