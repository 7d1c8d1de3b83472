-- readers finds out which readers of a lock are alive. It is a prelude, joined behind markers, strangers and ours in front of the
-- scripts that ask. A script that looks changes nothing before it knows that it has asked for no markers: then it ends with ask.
--
-- A reader is alive while one of its markers is: key tag:owner:rwlock_timeout:i, i = 1..holds. The hash's own TTL says
-- nothing of one of ours, for any reader lengthens it.
--
-- A reader of Redisson may live without a marker: 3.44 to 3.52 renew the markers of one lock for each process, and of the
-- others the hash alone. It is known by its session, which is no UUID of version 8. When it is found it counts as alive
-- for as long as the hash has to live, 30 s at most, for it may be dead and the TTL ours; and from then on until when
-- a program that is none of ours has made the hash live. 30 s are three renewals with Redisson's watchdog timeout of 30 s,
-- and more than one with any timeout below 90 s.

-- lasts answers how many milliseconds a key still lasts: 0 when there is none, math.huge when it has no end.
local function lasts(key)
  local ttl = redis.call('pttl', key)
  return ttl == -1 and math.huge or ttl == 0 and 1 or math.max(ttl, 0) -- 0 is less than a millisecond
end

-- promise answers how long the longest marker of an owner lasts, 0 also when none is declared. Of a reader that has come meanwhile it
-- answers what no marker outlasts, how long the hash lasts, and true.
local function promise(owner, holds)
  local longest, found, came = 0, markers(owner, holds)
  for _, key in ipairs(came and {lock} or found) do
    longest = math.max(longest, lasts(key))
  end
  return longest, came
end

-- What look and survey answer is a table: longest is how long the longest promise of all readers lasts, 0
-- when no reader is alive; marked and unmarked count the readers that are alive with and without a
-- marker; and the rest is for bring, which does what is to be done. They change nothing. Of the owner that leaves they see nothing.

-- survey looks at all readers.
local function survey(leaves)
  local found = {longest = 0, marked = 0, unmarked = 0, dead = {}, stale = {}, late = {}, lives = {}}
  local without, reads = {}, {}
  local fields = redis.call('hgetall', lock)
  for at = 1, #fields, 2 do
    local owner, holds = fields[at], tonumber(fields[at + 1]) -- the mode is no number
    if holds and owner ~= leaves and owner:sub(-6) ~= ':write' then
      reads[owner] = true
      local left = promise(owner, holds)
      if left ~= 0 then
        found.marked = found.marked + 1
        found.longest = math.max(found.longest, left)
      elseif owner:sub(15, 15) == '8' then
        found.dead[#found.dead + 1] = owner
      else
        without[#without + 1] = owner
      end
    end
  end
  for _, owner in ipairs(redis.call('zrange', readers, 0, -1)) do
    if not reads[owner] then
      found.stale[#found.stale + 1] = owner
    end
  end
  if #without == 0 then
    return found
  end
  found.strangers = true
  local was, now, alive = touched(), clock(), life(ending())
  for _, owner in ipairs(without) do
    local till = tonumber(redis.call('zscore', record, owner) or -1)
    if till == -1 then
      till = math.min(alive, now + grace)
      found.lives[owner] = till
    elseif was then
      till = alive
    end
    if till > now then
      found.unmarked = found.unmarked + 1
      found.longest = math.max(found.longest, till - now)
    else
      found.dead[#found.dead + 1] = owner
    end
  end
  return found
end

-- look asks the list of our readers, and looks at all of them where that does not know. Of the members whose moments are over it
-- looks at the markers, of sixteen at most.
local function look(leaves)
  local found = {longest = 0, marked = 0, unmarked = 0, dead = {}, stale = {}, late = {}, lives = {}, known = true}
  local fields = redis.call('hlen', lock) - 1 - (leaves and redis.call('hexists', lock, leaves) or 0)
  local members = redis.call('zcard', readers) - (leaves and redis.call('zscore', readers, leaves) and 1 or 0)
  if fields == 0 then
    return found
  end
  local now, many = clock(), 16
  local over = redis.call('zrange', readers, '-inf', whole(now), 'byscore', 'limit', 0, many, 'withscores')
  for at = 1, #over, 2 do
    local owner = over[at]
    if owner ~= leaves then
      local holds = redis.call('hget', lock, owner)
      local left, came = 0, false
      if holds and over[at + 1] == '0' then -- it lasts as long as the list
        left = lasts(readers)
      elseif holds then
        left, came = promise(owner, tonumber(holds) or 0)
      end
      if left == math.huge then
        return survey(leaves)
      elseif left > 0 then
        found.late[owner] = not came and left or nil
        found.longest = math.max(found.longest, left)
      else
        found.dead[#found.dead + 1], members = owner, members - 1
        fields = holds and fields - 1 or fields
      end
    end
  end
  if fields == 0 or #asked > 0 then
    return found
  end
  if #over == 2 * many or members ~= fields then
    return survey(leaves)
  end
  local last = redis.call('zrange', readers, -1, -1, 'withscores')
  if last[1] == leaves then
    last = redis.call('zrange', readers, -2, -2, 'withscores')
  end
  if tonumber(last[2]) > now then
    if redis.call('hexists', lock, last[1]) == 0 then
      return survey(leaves)
    end
    found.longest = math.max(found.longest, tonumber(last[2]) - now)
  end
  found.marked = 1
  return found
end

-- bring takes out the dead that were found, and records what was found of the living.
local function bring(found)
  for _, owner in ipairs(found.stale) do
    redis.call('zrem', readers, owner)
  end
  if found.strangers then
    recall()
    for owner, till in pairs(found.lives) do
      remember(owner, till)
    end
    note()
  end
  for _, owner in ipairs(found.dead) do
    strike(owner)
  end
  for owner, left in pairs(found.late) do
    enter(owner, left)
  end
end

-- free deletes a lock that no owner alive holds.
local function free()
  redis.call('del', lock, readers, record)
end

-- remain is called when an owner has left, with what was found before. It frees the lock, and answers -1, when no reader is
-- alive. Else the lock lasts from then on as long as the longest promise of a reader, and the answer is 0 when none of them has
-- a marker.
local function remain(found)
  if found.longest == 0 then
    if type(redis.pcall('del', lock, readers, record)) == 'table' then -- refused to the user: with its last field the hash goes too
      bring(found)
      redis.call('hdel', lock, 'mode')
    end
    return -1
  end
  bring(found)
  if found.known then
    outlast(found.longest)
  elseif found.longest < math.huge then
    redis.call('pexpire', lock, whole(found.longest))
    if found.unmarked > 0 then
      note()
    end
  end
  return found.marked
end
