-- inspect reads everything that a read-write lock's hash says, and how long each reader was promised.
-- KEYS[1]  lock hash: see strangers
-- KEYS[i]  markers for which the script has asked
--
-- Answers an array: the TTL of the hash in milliseconds (-1 when it has none, -2 when there is none), then for each
-- field the field, its value, and the TTL of its longest marker: -1 when that has none, -2 when there is no marker, as
-- for the mode and for a writer. Of a reader that came meanwhile it is that of the hash. It follows the prelude markers.

local answer = {redis.call('pttl', KEYS[1])}
local fields = redis.call('hgetall', KEYS[1])
for at = 1, #fields, 2 do
  local found, came = markers(fields[at], tonumber(fields[at + 1]) or 0)
  local longest = came and answer[1] or -2
  for _, marker in ipairs(found) do
    local ttl = redis.call('pttl', marker)
    longest = (ttl == -1 or longest == -1) and -1 or math.max(longest, ttl)
  end
  answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = fields[at], fields[at + 1], longest
end
if #asked > 0 then
  return ask()
end
return answer
