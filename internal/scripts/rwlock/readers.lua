-- readers finds out which readers of a lock are alive. It is a prelude, joined behind strangers and ours in front of the
-- scripts that ask. Answers of its functions are said at each.
--
-- A reader is alive while one of its markers is: key tag:owner:rwlock_timeout:i, i = 1..holds. The hash's own TTL says
-- nothing of one of ours, for any reader lengthens it.
--
-- A reader of Redisson may live without a marker: 3.44 to 3.52 renew the markers of one lock for each process, and of the
-- others the hash alone. It is known by its session, which is no UUID of version 8. When it is found it counts as alive
-- for as long as the hash has to live, 30 s at most, for it may be dead and the TTL ours; and from then on until when
-- somebody who is none of ours has made the hash live. 30 s are three renewals with Redisson's watchdog timeout of 30 s,
-- and more than one with any timeout below 90 s.

-- survey looks at all readers. It answers a table: longest is for how many milliseconds the longest promise of all
-- readers still lasts (0 when no reader is alive, -1 when one has no end), dead lists the fields of the dead, marked and
-- unmarked count the readers that are alive with and without a marker. With quiet it writes nothing.
local function survey(quiet)
  local found = {longest = 0, dead = {}, marked = 0, unmarked = 0}
  local without, reads = {}, {}
  local fields = redis.call('hgetall', lock)
  for at = 1, #fields, 2 do
    local owner, holds = fields[at], tonumber(fields[at + 1]) -- the mode is no number
    if holds and owner:sub(-6) ~= ':write' then
      reads[owner] = true
      local left = promise(owner, holds)
      if left ~= 0 then
        found.marked = found.marked + 1
        if left == -1 or found.longest == -1 then
          found.longest = -1
        else
          found.longest = math.max(found.longest, left)
        end
      elseif owner:sub(15, 15) == '8' then
        found.dead[#found.dead + 1] = owner
      else
        without[#without + 1] = owner
      end
    end
  end
  if not quiet then
    for _, owner in ipairs(redis.call('zrange', readers, 0, -1)) do
      if not reads[owner] then
        redis.call('zrem', readers, owner)
      end
    end
  end
  if #without == 0 then
    return found
  end
  local was, now, alive = touched(), clock(), life(ending())
  if not quiet then
    recall()
  end
  for _, owner in ipairs(without) do
    local till = tonumber(redis.call('zscore', record, owner) or -1)
    if till == -1 then
      till = math.min(alive, now + grace)
      if not quiet then
        remember(owner, till)
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
    note()
  end
  return found
end

-- bury takes out all the dead.
local function bury(found)
  for _, owner in ipairs(found.dead) do
    strike(owner)
  end
end

-- free deletes a lock that nobody alive holds.
local function free()
  redis.call('del', lock, readers, record)
end

-- remain is called when somebody has left. It frees the lock, and answers -1, when no reader is alive. Else the lock
-- lasts from then on as long as the longest promise of a reader, and the answer is 0 when none of them has a marker.
local function remain()
  local left = known()
  if left > 0 then
    outlast(left)
    return 1
  end
  local found = left == unknown and survey()
  if not found or found.longest == 0 then
    free()
    return -1
  end
  bury(found)
  if found.longest > 0 then
    redis.call('pexpire', lock, whole(found.longest))
  end
  if found.unmarked > 0 then
    note()
  end
  return found.marked
end
