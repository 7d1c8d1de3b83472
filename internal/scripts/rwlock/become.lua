-- become makes a reader of a process out of its writer. It is a prelude, joined behind strangers and ours.
--
-- become takes the reader, a fresh one, the key of its first marker, and what it is promised in milliseconds. The caller has removed the
-- field of the writer: HDEL is allowed on a server that is out of memory, and after it the others are. Answers of crowded stand beside
-- it.

local function become(owner, marker, ttl)
  disown()
  redis.call('hset', lock, 'mode', 'read', owner, '1')
  redis.call('set', marker, '1', 'px', whole(ttl))
  enter(owner, ttl)
  if redis.call('hlen', lock) > 2 then -- the writer reads on
    lengthen(ttl)
  else
    outlast(ttl)
  end
end

-- crowded answers whether more connections listen to a channel than the process that asks has, or that cannot be known. publish is
-- PUBLISH or SPUBLISH.
local function crowded(publish, channel, own)
  local count = redis.pcall('pubsub', publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', channel)
  return count.err or tonumber(count[2]) > tonumber(own)
end
