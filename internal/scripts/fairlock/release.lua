-- release ends all holds of an owner and takes the owner out of the queue; if the lock is free then, the next is woken.
-- KEYS[1-5]  lock hash; queue; timeouts; alive; never there: while their slot moves the script is refused
-- ARGV[1-2]  owner; PUBLISH or SPUBLISH, empty for no message
-- ARGV[3]    base channel; a waiter's own is this, a colon and the waiter
-- ARGV[4]    the owner's patience in milliseconds: the most that those behind it get back
-- ARGV[5]    optional: row; the channel of a process is this, a colon and its session
-- ARGV[6]    with a row: for how many milliseconds the next owner, if it is one of ours and its process listens, holds the lock
-- ARGV[7]    optional, as all that follow: how many owners of this process are finished with
-- ARGV[8]    how many owners of this process come for the lock
-- ARGV[i]    then those that are finished with, which leave the queue, and those that come, each with its patience
--
-- Answers 1, or 0 when the owner held nothing. With seven arguments or more it answers an array: the same number, the time in
-- milliseconds, and if an owner of the same session holds now its number, and those of the owners of its process that stand
-- behind it, one behind the other.
--
-- The process of an owner that was made to hold hears the time, the number, and those behind it; the process of this owner
-- does not where an array tells it.
--
-- The next is also woken when it was not this owner who freed the lock: a lease that runs out wakes no waiter, and the message
-- before this one may have gone to an owner who left. While another holds, a waiter of ours that becomes the next is told for
-- how many milliseconds.

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
    tell(redis.call('lindex', KEYS[2], 0), ARGV[2], ARGV[3], ARGV[5], ttl)
  end
end

-- hand has the head hold, if it is one of ours that can be handed the lock and its process will know. It answers whether the
-- lock was handed on, and of an owner of the session own the numbers of the head and of those of it behind the head.
local function hand(head, own)
  local session, number = string.match(head, '^(.*):(%d+)$')
  local process = session and session ~= own and listens(head, ARGV[2], ARGV[5])
  local given, run, refused = (process or session and session == own) and redis.call('zscore', KEYS[4], head), {}, false
  if given then
    run = following(session, 1)
    table.insert(run, 1, number)
    redis.call('hset', KEYS[1], head, '1')
    refused = type(redis.pcall('pexpire', KEYS[1], ARGV[6])) == 'table' -- and a lock must not stay that has no TTL
    if process and not refused then
      refused = type(redis.pcall(ARGV[2], process, 'h ' .. whole(now) .. ' ' .. table.concat(run, ' '))) ~= 'number'
    end
  end
  if refused then
    redis.call('hdel', KEYS[1], head)
    given = nil
  elseif given then
    enter(head, tonumber(ARGV[6]))
  end
  return given, given and not process and run or {}
end

local held = redis.call('hdel', KEYS[1], ARGV[1])
local deadline = redis.call('zscore', KEYS[3], ARGV[1])
if drop(ARGV[1]) > 0 then
  leave(ARGV[1], deadline, tonumber(ARGV[4]))
end
local own = ARGV[7] and string.match(ARGV[1], '^(.*):')
if own then
  remove(9, tonumber(ARGV[7]))
end
local free = redis.call('exists', KEYS[1]) == 0
if own and ARGV[8] ~= '0' then
  front(free)
  arrive(9 + ARGV[7], tonumber(ARGV[8]), now + math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[6])))
end
local run = {}
if free then
  local head, handed = front(true), false
  if head and ARGV[5] then
    handed, run = hand(head, own)
  end
  if head and not handed and ARGV[2] ~= '' then
    redis.call(ARGV[2], address(head, ARGV[2], ARGV[3], ARGV[5], '0'))
  end
elseif own and held == 0 then -- an earlier execution may have made the holder
  local session, number = string.match(redis.call('hgetall', KEYS[1])[1], '^(.*):(%d+)$')
  if session == own then
    run = following(own, 0)
    table.insert(run, 1, number)
  end
end
return own and {held, now, unpack(run)} or held
