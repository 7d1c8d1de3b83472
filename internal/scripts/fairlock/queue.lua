-- queue is how every script about the queue of a fair lock goes on: it reads the clock and knows who is next.
-- KEYS[1-2]  lock hash: field = owner, value = holds; queue: list of owners, the next one first
-- KEYS[3]    timeouts: sorted set, owner -> the moment from which Redisson takes the owner for gone once it is next
-- KEYS[4]    alive: sorted set of our own owners -> the moment until which each is known to be alive
--
-- All moments are milliseconds by the clock of this server. KEYS[4] is ours alone: an owner of ours that lives moves its
-- moment on, so whether it is gone is not guessed from a deadline that others add to and subtract from.

local now = clock()

-- pure is whether every waiter in the queue is one of ours. Then deadlines are no chain, and nothing here depends on how many
-- wait. Who is in the list is in the timeouts too, so as many in all three are the same ones; but for what Redisson swept
-- of ours and put there of its own, which front, a waiter that enters and the next survey notice. Keys of other types are
-- refused here, before anything is written.
local waiting, deadlines = redis.call('llen', KEYS[2]), redis.call('zcard', KEYS[3])
local pure = redis.call('zcard', KEYS[4]) == waiting and deadlines == waiting

-- drop forgets everything about an owner but its place in the list.
local function drop(owner)
  return redis.call('zrem', KEYS[3], owner) + redis.call('zrem', KEYS[4], owner)
end

-- front removes the heads that are gone and answers who is next, and how many were removed. An owner that Redisson put
-- there is gone when its deadline is over, or when it has none, for then no script would ever remove it. One of ours is
-- gone when it has not been heard of for its patience, and that matters only while the lock is free: a process that was
-- suspended for a moment keeps its places while another owner holds.
local function front(free)
  local removed = 0
  local head = redis.call('lindex', KEYS[2], 0)
  while head do
    local alive = redis.call('zscore', KEYS[4], head)
    local gone
    if alive then
      gone = free and tonumber(alive) <= now
    else
      pure = false
      local deadline = redis.call('zscore', KEYS[3], head)
      gone = not deadline or tonumber(deadline) <= now
    end
    if not gone then
      break
    end
    redis.call('lpop', KEYS[2])
    drop(head)
    removed = removed + 1
    head = redis.call('lindex', KEYS[2], 0)
  end
  if not head and not pure then
    redis.call('del', KEYS[3], KEYS[4]) -- without the list they are leftovers
    pure = true
  end
  return head, removed
end

-- listens is the channel of the process of an owner, if that process hears it, and else nothing.
local function listens(owner, publish, row)
  local session = row and string.match(owner, '^(.*):')
  if session and publish ~= '' then
    local count = redis.pcall('pubsub', publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', row .. ':' .. session)
    return not count.err and tonumber(count[2]) > 0 and row .. ':' .. session or nil
  end
end

-- address is where a message reaches a waiter, and its text: on the channel of its process, if the waiter is one of ours and
-- the process hears that, and else on the waiter's own, as Redisson does.
local function address(waiter, publish, channel, row, message)
  local process = row and redis.call('zscore', KEYS[4], waiter) and listens(waiter, publish, row)
  if process then
    return process, 'w ' .. string.match(waiter, '[^:]*$') .. ' ' .. message
  end
  return channel .. ':' .. waiter, message
end

-- tell lets the owner that has become the next know for how many milliseconds the present holder has the lock, if that
-- owner is one of ours: nothing else tells it when the lease ends. One of Redisson's would ask at once for nothing.
local function tell(head, publish, channel, row, lease)
  if head and publish ~= '' and tonumber(lease) > 0 and redis.call('zscore', KEYS[4], head) then
    redis.pcall(publish, address(head, publish, channel, row, lease)) -- refused to a user who may not publish: the waiter polls
  end
end

-- remove takes owners, the arguments from the first on, out of the queue: they have been served, or have left. They stand in
-- front, but where the lock was lost.
local function remove(first, count)
  local owners = {unpack(ARGV, first, first + count - 1)}
  if count > 0 and redis.call('zrem', KEYS[3], unpack(owners)) + redis.call('zrem', KEYS[4], unpack(owners)) > 0 then
    for _, owner in ipairs(owners) do
      redis.call('lrem', KEYS[2], 1, owner)
    end
  end
end

-- KEEP is how long KEYS[4] outlives the last command of ours. Without it the entries of ours that are left would be judged
-- by their deadlines.
local KEEP = 3600000

-- following are the numbers of the owners of a session that stand one behind the other, from a place in the list on. An owner
-- whose number is negative cannot be handed the lock: it ends them.
local function following(session, from)
  local found = {}
  for _, owner in ipairs(redis.call('lrange', KEYS[2], from, from + 30)) do
    local its, number = string.match(owner, '^(.*):(%d+)$')
    if its ~= session then
      break
    end
    found[#found + 1] = number
  end
  return found
end

-- move adds to the deadlines of members. Behind another write, a server that is out of memory lets it pass.
local function move(members, by)
  for _, member in ipairs(members) do
    redis.call('zadd', KEYS[3], 'xx', 'incr', whole(by), member)
  end
end
