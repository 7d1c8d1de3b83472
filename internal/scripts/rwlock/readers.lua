-- readers finds out which readers of a lock are alive. It is a prelude, joined in front of the scripts that ask.
--
-- Answers of survey: how many milliseconds the longest marker of all readers still lives (0 when no reader is alive, -1
-- when one has no end), and a list of the fields of the dead.
--
-- A reader is alive while one of its markers is: key tag:owner:rwlock_timeout:i, i = 1..holds. The hash's own TTL says
-- nothing, for any reader lengthens it. Markers of other owners are composed here, in the slot of the lock.

local function survey(lock, tag)
  local longest, dead = 0, {}
  local fields = redis.call('hgetall', lock)
  for at = 1, #fields, 2 do
    local owner, holds = fields[at], tonumber(fields[at + 1]) -- the mode is no number
    if holds and owner:sub(-6) ~= ':write' then
      local alive = false
      for i = holds, 1, -1 do
        local ttl = redis.call('pttl', tag .. ':' .. owner .. ':rwlock_timeout:' .. i)
        if ttl ~= -2 then
          alive = true
          if ttl == -1 or longest == -1 then
            longest = -1
          else
            longest = math.max(longest, ttl, 1) -- 0 is less than a millisecond
          end
        end
      end
      if not alive then
        dead[#dead + 1] = owner
      end
    end
  end
  return longest, dead
end

local function drop(lock, dead)
  for _, owner in ipairs(dead) do
    redis.call('hdel', lock, owner)
  end
end
