-- readers finds out which readers of a lock are alive. It is a prelude, joined behind strangers in front of the scripts
-- that ask. Answers of its functions are said at each.
--
-- A reader is alive while one of its markers is: key tag:owner:rwlock_timeout:i, i = 1..holds. The hash's own TTL says
-- nothing of one of ours, for any reader lengthens it. Markers of other owners are composed here, in the slot of the
-- lock.
--
-- A reader of Redisson may live without a marker: 3.44 to 3.52 renew the markers of one lock for each process, and of the
-- others the hash alone. It is known by its session, which is no UUID of version 8. When it is found it counts as alive
-- for as long as the hash has to live, 30 s at most, for it may be dead and the TTL ours; and from then on until when
-- somebody who is none of ours has made the hash live. 30 s are three renewals with Redisson's watchdog timeout of 30 s,
-- and more than one with any timeout below 90 s.

-- survey answers a table: longest is for how many milliseconds the longest promise of all readers still lasts (0 when no
-- reader is alive, -1 when one has no end), dead lists the fields of the dead, marked and unmarked count the readers that
-- are alive with and without a marker. With quiet it writes nothing.
local function survey(lock, tag, quiet)
  local found = {longest = 0, dead = {}, marked = 0, unmarked = 0}
  local without = {}
  local fields = redis.call('hgetall', lock)
  for at = 1, #fields, 2 do
    local owner, holds = fields[at], tonumber(fields[at + 1]) -- the mode is no number
    if holds and owner:sub(-6) ~= ':write' then
      local alive = 0
      for i = holds, 1, -1 do
        local ttl = redis.call('pttl', tag .. ':' .. owner .. ':rwlock_timeout:' .. i)
        if ttl ~= -2 then
          alive = 1
          if ttl == -1 or found.longest == -1 then
            found.longest = -1
          else
            found.longest = math.max(found.longest, ttl, 1) -- 0 is less than a millisecond
          end
        end
      end
      found.marked = found.marked + alive
      if alive == 0 then
        if owner:sub(15, 15) == '8' then
          found.dead[#found.dead + 1] = owner
        else
          without[#without + 1] = owner
        end
      end
    end
  end
  if #without == 0 then
    return found
  end
  local was, now, alive = touched(lock), clock(), life(ending(lock))
  if not quiet then
    recall(lock)
  end
  for _, owner in ipairs(without) do
    local till = tonumber(redis.call('zscore', recordOf(lock), owner) or -1)
    if till == -1 then
      till = math.min(alive, now + grace)
      if not quiet then
        record(lock, owner, till)
      end
    elseif was == 1 then
      till = alive
    end
    if till > now then
      found.unmarked = found.unmarked + 1
      if found.longest ~= -1 then
        found.longest = math.max(found.longest, till - now)
      end
    else
      found.dead[#found.dead + 1] = owner
    end
  end
  if not quiet then
    note(lock)
  end
  return found
end

local function drop(lock, dead)
  for _, owner in ipairs(dead) do
    redis.call('hdel', lock, owner)
    redis.call('zrem', recordOf(lock), owner)
  end
end

-- free deletes a lock that nobody alive holds.
local function free(lock)
  redis.call('del', lock, recordOf(lock))
end
