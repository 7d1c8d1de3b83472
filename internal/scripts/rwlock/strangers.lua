-- strangers keeps the record of the readers of Redisson that live without a marker. It is a prelude, joined in front of
-- the scripts that change the TTL of a lock that is read, or ask which readers are alive.
--
-- The record is a sorted set beside the lock: owner = the moment until which it counts as alive; 'ending' = the moment at which the hash
-- was to end when a script of ours looked last, 0 for a hash without TTL. Moments are milliseconds by the server's clock.
--
-- The TTL of the hash is changed by our scripts and by Redisson's, and Redisson's do so for readers that live. So our
-- scripts look, before they change it, whether it is what they recorded. There is a record only where a reader without
-- marker was found, so locks without one pay for one look.
-- KEYS[1]    lock hash: mode = read or write, owner = read holds, owner:write = write holds
-- KEYS[2-3]  list of our readers; record of strangers

local grace = 30000

-- All functions of the preludes are about these three.
local lock, readers, record = KEYS[1], KEYS[2], KEYS[3]

-- ending answers the moment at which the hash ends.
local function ending()
  local ttl = redis.call('pttl', lock)
  return ttl < 0 and 0 or clock() + ttl
end

-- life answers until when a reader lives for whose sake the hash was made to end then.
local function life(ends)
  return ends == 0 and clock() + grace or ends
end

-- touched answers whether a program that is none of ours has changed the TTL of the hash, as far as is known, and whether there is a
-- record. The clock and the TTL are read one after another.
local function touched()
  local known = redis.call('zscore', record, 'ending')
  return known and math.abs(ending() - tonumber(known)) > 2, known
end

-- On a server that is out of memory nothing can be recorded. A reader without marker is found anew each time then.
local function remember(member, moment)
  redis.pcall('zadd', record, whole(moment), member)
end

-- recall is called before the TTL changes, and prolongs the lives that are recorded if it was touched. It answers whether there is a record.
local function recall()
  local was, known = touched()
  if was then
    local ends = ending()
    for _, member in ipairs(redis.call('zrange', record, 0, -1)) do
      remember(member, life(ends))
    end
    remember('ending', ends)
  end
  return known
end

-- note is called after the TTL has changed, if there is a record. The record outlives the hash.
local function note()
  remember('ending', ending())
  local last = math.max(redis.call('pttl', lock), grace)
  if redis.call('pttl', record) < last then
    redis.pcall('pexpire', record, whole(last))
  end
end

-- outlast makes the hash last that many milliseconds.
local function outlast(ttl)
  local known = recall()
  redis.call('pexpire', lock, whole(ttl))
  if known then
    note()
  end
end

-- lengthen makes the hash last at least that many milliseconds.
local function lengthen(ttl)
  if redis.call('pttl', lock) < ttl then -- a key without TTL says -1, and gets one
    outlast(ttl)
  end
end

-- announce adds who to the set of announcements for so many milliseconds. The set lasts for at least stays milliseconds, or longer where
-- another announcement needs it. A set that cannot be given a TTL does not stay: its announcements would bar readers for ever.
local function announce(announced, who, ms, stays)
  redis.call('zadd', announced, whole(clock() + ms), who)
  if redis.call('pttl', announced) < stays then
    local lasts = redis.pcall('pexpire', announced, whole(stays))
    if type(lasts) == 'table' then
      redis.call('zrem', announced, who)
      error('nothing was changed: ' .. lasts.err, 0)
    end
  end
end
