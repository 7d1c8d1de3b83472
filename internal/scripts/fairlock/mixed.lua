-- mixed is what a script does to the deadlines of a queue in which Redisson's wait too: they are a chain then, as Redisson
-- reckons, and each step costs as much as there are waiters.
-- KEYS[1-4]  lock hash; queue; timeouts; alive
-- ARGV[i], ARGV[i + 1]  of arrive: owners and their patiences
--
-- What is right for all waiters, ours or Redisson's: the distance between a deadline and the one in front is what the
-- waiter added when it came, and what it will subtract when it acquires.

-- What a Redisson waiter subtracts from those behind it unless it has a wait time of its own.
local REDISSON_PATIENCE = 300000

local function scores(key)
  local pairs = redis.call('zrange', key, 0, -1, 'withscores')
  local found = {}
  for i = 1, #pairs, 2 do
    found[pairs[i]] = tonumber(pairs[i + 1])
  end
  return found
end

-- rebase moves all waiters so that those behind stand as far after the end of the new holder's lease as they stood after
-- the holder's deadline. Who is next has at least its own time then, also one of Redisson's that has waited for long.
-- Nobody is moved back to where it would be taken for gone during that lease.
local function rebase(deadline, over)
  local lowest = redis.call('zrange', KEYS[3], 0, 0, 'withscores')[2]
  if lowest then
    local by = over - deadline
    if by < 0 then
      by = math.min(math.max(by, over - tonumber(lowest)), 0)
    end
    move(redis.call('zrange', KEYS[3], 0, -1), by)
  end
end

-- enter takes the next, which holds from now on, out of the queue.
local function enter(owner, lease)
  local deadline = redis.call('zscore', KEYS[3], owner)
  redis.call('lpop', KEYS[2])
  drop(owner)
  if not pure and deadline then
    rebase(tonumber(deadline), now + lease)
  end
end

-- last is the deadline of one with that patience at the end: behind the last one's. If the last one is Redisson's, it may
-- have waited for long, and will subtract its whole patience from us when it acquires. The hundredth of a second is the
-- difference between two readings of the same clock.
local function last(over, patience)
  local deadline = over + 2 * patience
  local tail = redis.call('lindex', KEYS[2], -1)
  local before = redis.call('zscore', KEYS[3], tail)
  if before then
    deadline = math.max(deadline, tonumber(before) + patience)
  end
  if not redis.call('zscore', KEYS[4], tail) then
    local enough = over + REDISSON_PATIENCE + patience
    if enough > deadline + 10 then
      deadline = enough
    end
  end
  return deadline
end

-- survey walks along the queue. It moves on what is known of our owners, which patiences names, and answers who of them
-- stands there. A deadline stays a chain (at least a patience after the one in front, never lowered) and also covers what
-- all in front may subtract before it is confirmed again. Who stands behind is moved on by as much, Redisson's too. So
-- each waiter keeps its place, and the difference between the deadline of one of Redisson's and that of the one in front
-- stays what it was when it came: what it will subtract. More than usual is taken for what a waiter between the two has
-- left behind. The first of all has none in front to compare with.
--
-- What an owner of another process subtracts is not written anywhere: most likely what we do, and not less than the time
-- for which it is known to be alive. If its deadline is gone it is given one, for without one it would keep Redisson's
-- waiting for ever once it is next.
--
-- Who is not in the list is forgotten. To one of Redisson's, that makes the difference between waiting for ever and
-- coming to the end of the queue again.
local function survey(patiences, patience, over)
  local stands = {}
  local deadlines, alive = scores(KEYS[3]), scores(KEYS[4])
  local sum, added, before = over, 0, nil -- before: as it was
  for _, member in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
    local mine, was = patiences[member], deadlines[member]
    local deadline = was
    if mine or alive[member] then
      local part = mine or math.max(alive[member] - now, patience)
      sum = sum + part
      local least = math.max(sum, over + 2 * part, (before or 0) + added + part)
      deadline = deadline or least - added
      if mine then
        added = math.max(added, least - deadline)
        redis.call('zadd', KEYS[4], whole(now + mine), member)
        stands[member] = true
      end
    else
      local usual = not before or not deadline or deadline <= before or deadline - before > REDISSON_PATIENCE
      sum = sum + (usual and REDISSON_PATIENCE or deadline - before)
    end
    if deadline and deadline + added ~= was then
      redis.call('zadd', KEYS[3], whole(deadline + added), member)
    end
    before = deadline or before
    deadlines[member], alive[member] = nil, nil
  end
  for member in pairs(deadlines) do
    drop(member)
  end
  for member in pairs(alive) do
    drop(member)
  end
  return stands
end

-- arrive puts owners at the end of the queue: so many, each with its patience behind it, from one argument on. Who stands
-- there already, or holds, came by an earlier execution. over is when the lock is free, if it is not renewed.
local function arrive(first, count, over)
  local longest, floor = 0, 0
  local deadlines, alive, names = {}, {}, {}
  local tail = redis.call('lindex', KEYS[2], -1)
  local chain = tail and not (pure and redis.call('zscore', KEYS[4], tail))
  local holder = redis.call('hgetall', KEYS[1])[1]
  for i = first, first + 2 * count - 1, 2 do
    local owner, patience = ARGV[i], tonumber(ARGV[i + 1])
    if owner ~= holder then
      longest = math.max(longest, patience)
      local deadline = over + 2 * patience
      if chain then
        floor = math.max(floor, last(over, patience))
        deadline = math.max(deadline, floor)
      end
      names[#names + 1] = owner
      deadlines[#deadlines + 1], deadlines[#deadlines + 2] = whole(deadline), owner
      alive[#alive + 1], alive[#alive + 2] = whole(now + patience), owner
    end
  end
  if #names > 0 then
    local fresh = redis.call('zadd', KEYS[3], 'nx', unpack(deadlines)) == #names and redis.call('rpush', KEYS[2], unpack(names))
    for _, owner in ipairs(fresh and {} or names) do
      if not redis.call('lpos', KEYS[2], owner) then
        redis.call('rpush', KEYS[2], owner)
      end
    end
    redis.call('zadd', KEYS[4], unpack(alive))
    redis.call('pexpire', KEYS[4], whole(math.max(KEEP, 4 * longest)))
  end
end
