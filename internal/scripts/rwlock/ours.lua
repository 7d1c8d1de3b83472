-- ours keeps the list of our own readers, so that no script has to look at all of them. It is a prelude behind strangers.
--
-- The list is a sorted set beside the lock: owner = the moment until which its promise lasts, or 0 for the first, which says that
-- the promise lasts as long as the list; reading the clock would be a fifth of what a lone reader costs. Who comes next enters
-- the moment. The list is a cache. Markers decide who is alive, and where the list and the hash differ they are all looked at. It is
-- believed when it has as many members as the hash has readers, and its highest member reads: the script that enters it makes sure
-- that it is that of this very hash, so either all its members read, or none.

-- enter has an owner that reads in the list, with what it was promised at least. On a server that is out of memory it may
-- fail, and the reader is none of ours then.
local function enter(owner, ttl)
  local first = redis.call('zrange', readers, 0, 0, 'withscores')
  if first[2] == '0' and first[1] ~= owner then
    redis.pcall('zadd', readers, whole(clock() + redis.call('pttl', readers)), first[1])
  end
  redis.pcall('zadd', readers, 'gt', whole(clock() + ttl), owner)
  if redis.call('pttl', readers) < ttl then
    redis.pcall('pexpire', readers, whole(ttl))
  end
end

-- disown deletes the list of a hash that was deleted by a program that did not know of it. It is called before a new reader
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
