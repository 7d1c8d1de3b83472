-- value reads the counter for the script that follows it. It is a prelude, joined in front of the script.
-- KEYS[1]  counter: a string, decimal integer of 64 bits
--
-- Answers an error when the key is something else; else the script goes on with the text in value, false when there
-- is no such key.

local value = redis.call('get', KEYS[1])
if value and not (string.match(value, '^-?%d+$') and math.abs(tonumber(value) or math.huge) <= 9223372036854775808) then
  return redis.error_reply('ERR ' .. KEYS[1] .. ' holds something that is not an integer; remove it or use another name')
end
