-- strangers keeps the record of the readers of Redisson that live without a marker. It is a prelude, joined in front of
-- the scripts that change the TTL of a lock that is read, or ask which readers are alive. Answers of its functions are
-- said at each.
--
-- The record is a sorted set beside the lock: owner = the moment until which it counts as alive; 'ending' = the moment at which the hash
-- was to end when a script of ours looked last, 0 for a hash without TTL. Moments are milliseconds by the server's clock.
--
-- The TTL of the hash is changed by our scripts and by Redisson's, and Redisson's do so for readers that live. So our
-- scripts look, before they change it, whether it is what they recorded. There is a record only where a reader without
-- marker was found, so locks without one pay for one look.

local grace = 30000

-- recordOf answers the key of the record, in the slot of the lock. A name with a brace has another colon, as everything
-- has that Redisson does not know.
local function recordOf(lock)
  if lock:find('{', 1, true) then
    return 'redlatch_rwlock_strangers::' .. lock
  end
  return 'redlatch_rwlock_strangers:{' .. lock .. '}'
end

local function clock()
  local time = redis.call('time')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- ending answers the moment at which the hash ends.
local function ending(lock)
  local ttl = redis.call('pttl', lock)
  if ttl < 0 then
    return 0
  end
  return clock() + ttl
end

-- life answers until when a reader lives for whose sake the hash was made to end then.
local function life(ends)
  if ends == 0 then
    return clock() + grace
  end
  return ends
end

-- touched answers whether somebody who is none of ours has changed the TTL of the hash: 1, 0, or -1 without a record.
local function touched(lock)
  local known = redis.call('zscore', recordOf(lock), 'ending')
  if not known then
    return -1
  end
  if math.abs(ending(lock) - tonumber(known)) > 2 then -- the clock and the TTL are read one after another
    return 1
  end
  return 0
end

-- On a server that is out of memory nothing can be recorded. A reader without marker is found anew each time then.
local function record(lock, member, moment)
  redis.pcall('zadd', recordOf(lock), string.format('%.0f', moment), member)
end

-- recall is called before the TTL changes, and prolongs the lives that are recorded if it was touched. It answers what
-- touched did.
local function recall(lock)
  local was = touched(lock)
  if was == 1 then
    local ends = ending(lock)
    for _, member in ipairs(redis.call('zrange', recordOf(lock), 0, -1)) do
      record(lock, member, life(ends))
    end
    record(lock, 'ending', ends)
  end
  return was
end

-- note is called after the TTL has changed, if there is a record. The record outlives the hash.
local function note(lock)
  record(lock, 'ending', ending(lock))
  local last = math.max(redis.call('pttl', lock), grace)
  if redis.call('pttl', recordOf(lock)) < last then
    redis.pcall('pexpire', recordOf(lock), string.format('%.0f', last))
  end
end

-- lengthen makes the hash last at least that many milliseconds.
local function lengthen(lock, ttl)
  if redis.call('pttl', lock) < ttl then -- a key without TTL says -1, and gets one
    local was = recall(lock)
    redis.call('pexpire', lock, string.format('%.0f', ttl))
    if was ~= -1 then
      note(lock)
    end
  end
end
