-- ours keeps the list of our own readers, so that nobody has to look at all of them. It is a prelude behind strangers.
-- Answers of its functions are said at each.
--
-- The list is a sorted set beside the lock: owner = the moment until which its promise lasts, or 0, which says that its
-- marker knows; reading the clock would be a fifth of what a lone reader costs. The list is a cache. Markers decide who is
-- alive, and where the list and the hash differ they are all looked at. It is believed when it has as many members as the
-- hash has readers, and its highest member reads: whoever enters it makes sure that it is that of this very hash, so
-- either all its members read, or none.

-- enter has an owner that reads in the list, with what it was promised at least. On a server that is out of memory it may
-- fail, and the reader is none of ours then.
local function enter(owner, ttl)
  redis.pcall('zadd', readers, 'gt', whole(clock() + ttl), owner)
  if redis.call('pttl', readers) < ttl then
    redis.pcall('pexpire', readers, whole(ttl))
  end
end

-- disown deletes the list of a hash that was deleted by somebody who did not know of it. It is called before a new reader
-- is entered.
local function disown()
  local last = redis.call('zrange', readers, -1, -1)[1]
  if last and redis.call('hexists', lock, last) == 0 then
    redis.call('del', readers)
  end
end

-- strike takes a reader out whose promise is over.
local function strike(owner)
  redis.call('hdel', lock, owner)
  redis.call('zrem', readers, owner)
  redis.call('zrem', record, owner)
end

-- promise answers how many milliseconds the longest marker of an owner still lasts: 0 when there is none, -1 when one has
-- no end. Markers of other owners are composed here, in the slot of the lock.
local function promise(owner, holds)
  local tag = lock:find('{', 1, true) and lock or '{' .. lock .. '}'
  local stem, longest = tag .. ':' .. owner .. ':rwlock_timeout:', 0
  for i = holds, 1, -1 do
    local ttl = redis.call('pttl', stem .. i)
    if ttl == -1 then
      return -1
    end
    if ttl ~= -2 then
      longest = math.max(longest, ttl, 1) -- 0 is less than a millisecond
    end
  end
  return longest
end

local unknown = -2

-- known answers for how many milliseconds the longest promise of all readers still lasts, 0 when there is no reader, and
-- unknown when nobody can tell without looking at all of them. It takes the dead out that it meets, sixteen at most.
local function known()
  local fields = redis.call('hlen', lock) - 1
  if fields == 0 then
    return 0
  end
  local now, many = clock(), 16
  local over = redis.call('zrange', readers, '-inf', whole(now), 'byscore', 'limit', 0, many)
  for _, owner in ipairs(over) do
    local left = promise(owner, tonumber(redis.call('hget', lock, owner)) or 0)
    if left == -1 then
      return unknown
    elseif left > 0 then
      enter(owner, left)
    else
      strike(owner)
    end
  end
  if #over == many then
    return unknown
  elseif #over > 0 then
    fields = redis.call('hlen', lock) - 1
    if fields == 0 then
      return 0
    end
  end
  if redis.call('zcard', readers) ~= fields then
    return unknown
  end
  local last = redis.call('zrange', readers, -1, -1, 'withscores')
  if redis.call('hexists', lock, last[1]) == 0 then
    return unknown
  end
  return tonumber(last[2]) - now
end
