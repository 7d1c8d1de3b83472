-- release ends all holds of an owner and takes the owner out of the queue; if the lock is free then, the next is woken.
--
-- KEYS[1]  lock hash: field = owner, value = holds
-- KEYS[2]  queue
-- KEYS[3]  timeouts
-- KEYS[4]  alive
-- ARGV[1]  owner
-- ARGV[2]  PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]  base channel; a waiter's own is this, a colon and the waiter
-- ARGV[4]  the owner's patience in milliseconds: the most that those behind it get back
--
-- Answers 1, or 0 when the owner held nothing.
--
-- HDEL is the first write because it is allowed on a server that is out of memory. The next is also woken when it was
-- not this owner who freed the lock: a lease that runs out wakes nobody, and the message before this one may have gone
-- to an owner who left. While another holds, a waiter of ours that becomes the next is told for how many milliseconds.

-- leave takes an owner out of the list of a queue that has forgotten it. In a queue in which Redisson's wait too, those
-- behind get back what the distance of its deadline to the one in front, or to the end of the holder's lease, shows that
-- it has added.
local function leave(owner, deadline, patience)
  local ttl = redis.call('pttl', KEYS[1])
  local first = redis.call('lindex', KEYS[2], 0) == owner
  if pure then
    redis.call('lrem', KEYS[2], 1, owner)
  else
    local place = redis.call('lpos', KEYS[2], owner)
    if place then
      local added, before = patience, now + math.max(ttl, 0)
      if not first then
        before = tonumber(redis.call('zscore', KEYS[3], redis.call('lindex', KEYS[2], place - 1)))
      end
      if deadline and before then
        added = math.min(math.max(tonumber(deadline) - before, 0), patience)
      end
      local behind = redis.call('lrange', KEYS[2], place + 1, -1)
      redis.call('lrem', KEYS[2], 1, owner)
      move(behind, -added)
    end
  end
  if first then -- of a lock that is free, its message tells the next
    tell(redis.call('lindex', KEYS[2], 0), ARGV[2], ARGV[3], ttl)
  end
end

local held = redis.call('hdel', KEYS[1], ARGV[1])
local deadline = redis.call('zscore', KEYS[3], ARGV[1])
if drop(ARGV[1]) > 0 then
  leave(ARGV[1], deadline, tonumber(ARGV[4]))
end
if redis.call('exists', KEYS[1]) == 0 then
  local head = front(true)
  if head and ARGV[2] ~= '' then
    redis.call(ARGV[2], ARGV[3] .. ':' .. head, '0')
  end
end
return held
