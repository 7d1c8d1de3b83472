-- clock reads the clock of the server. It is a prelude of the scripts that reckon with moments.
--
-- Answers of the functions: the time in milliseconds since 1970; a number in digits, where Lua would print an exponent.

local function clock()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function whole(number)
  return string.format('%.0f', number)
end
