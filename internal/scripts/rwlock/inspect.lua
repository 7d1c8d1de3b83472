-- inspect reads everything that a read-write lock's hash says, and how long each reader was promised.
--
-- KEYS[1]  lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- ARGV[1]  stem of all markers of the lock, without the colon after it
--
-- Answers an array: the TTL of the hash in milliseconds (-1 when it has none, -2 when there is none), then for each
-- field the field, its value, and the TTL of its longest marker: -1 when that has none, -2 when there is no marker, as
-- for the mode and for a writer. The markers are composed here, in the slot of the lock.

local answer = {redis.call('pttl', KEYS[1])}
local fields = redis.call('hgetall', KEYS[1])
for at = 1, #fields, 2 do
  local longest = -2
  for i = 1, tonumber(fields[at + 1]) or 0 do
    local ttl = redis.call('pttl', ARGV[1] .. ':' .. fields[at] .. ':rwlock_timeout:' .. i)
    if ttl == -1 or longest == -1 then
      longest = -1
    else
      longest = math.max(longest, ttl)
    end
  end
  answer[#answer + 1] = fields[at]
  answer[#answer + 1] = fields[at + 1]
  answer[#answer + 1] = longest
end
return answer
