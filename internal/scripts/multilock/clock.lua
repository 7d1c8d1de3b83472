-- clock is what the scripts of groups share; it goes before them and runs nothing by itself.
--
-- Answers nothing. text writes a number as Redis does; Lua would use an exponent. clock is the server's time in
-- milliseconds.

local function text(number)
  return string.format('%.0f', number)
end

local function clock()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A value belongs to an owner as long as its field says so and the owner's deadline is to come.
local function deadline(key, value, owner)
  return tonumber(redis.call('hget', key, value .. ':' .. owner .. ':expire_time') or 0)
end

local function forget(key, value, owner)
  redis.call('hdel', key, value, value .. ':' .. owner .. ':expire_time', value .. ':' .. owner .. ':lock_count')
end
