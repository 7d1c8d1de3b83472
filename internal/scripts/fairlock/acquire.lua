-- acquire takes a fair lock for an owner who is next, or else gives the owner a place in the queue or confirms it.
--
-- KEYS[1]      lock hash
-- KEYS[2]      queue
-- KEYS[3]      timeouts
-- KEYS[4]      waiters of ours
-- ARGV[1]      owner
-- ARGV[2]      lease in milliseconds
-- ARGV[3]      patience in milliseconds; 0 for an owner who does not queue
-- ARGV[4]      PUBLISH or SPUBLISH; empty for no message
-- ARGV[5]      base channel; a waiter's own is this, a colon and the waiter
-- ARGV[i]      from the 6th on: another waiting owner of the same process, whose place is confirmed too
-- ARGV[i + 1]  its patience
--
-- Answers an array: 1 when the owner holds the lock, by this execution or an earlier one, else 0; the milliseconds
-- after which asking again is worth while without a message (of the holder's lease, -1 when it has no end, or until
-- whoever is next is taken for gone); the owner's place, 0 for the next one, -1 for none; then the places of the other
-- owners. An owner that is not in the queue is put at its end only by its own command, never as one of the others: it
-- may have left.
--
-- A waiter of ours that becomes the next by this, while another holds, is told for how many milliseconds.

-- What a Redisson waiter subtracts from those behind it unless it has a wait time of its own.
local REDISSON_PATIENCE = 300000
-- How long a Redisson waiter that is next may take to come when nobody listens on its channel: it is dead, or its
-- connection is being made. That is two of our usual poll intervals, so who comes back hears a second message.
local SILENT = 6000
-- How long it may take when somebody listens: it is suspended, or its machine is gone without a word.
local SLOW = 15000
-- How long KEYS[4] outlives the last command of ours. Without it the entries of ours that are left would be judged by
-- their deadlines.
local KEEP = 3600000

local owner, patience = ARGV[1], tonumber(ARGV[3])
if redis.call('hexists', KEYS[1], owner) == 1 then
  return {1, 0, -1}
end
local ttl = redis.call('pttl', KEYS[1])
local free = ttl == -2
local head, removed = front(free)
if free and (not head or head == owner) then
  redis.call('hset', KEYS[1], owner, '1')
  redis.call('pexpire', KEYS[1], ARGV[2])
  if head then
    local deadline = tonumber(redis.call('zscore', KEYS[3], owner) or 0)
    redis.call('lpop', KEYS[2])
    drop(owner)
    -- Besides its patience the owner takes back what it was moved on by, as far as nobody behind needs it.
    local lowest = tonumber(redis.call('zrange', KEYS[3], 0, 0, 'withscores')[2] or 0)
    local spare = math.min(deadline, lowest) - now - tonumber(ARGV[2])
    subtract(redis.call('zrange', KEYS[3], 0, -1), digits(math.max(tonumber(ARGV[3]), spare)))
    local following = redis.call('lindex', KEYS[2], 0)
    if following and string.match(following, '.*:') ~= string.match(owner, '.*:') then -- else its process knows
      tell(following, ARGV[4], ARGV[5], ARGV[2])
    end
  end
  return {1, 0, -1}
end

if removed > 0 and not free and head ~= owner then
  tell(head, ARGV[4], ARGV[5], ttl)
end

local over = now + math.max(ttl, 0) -- when the lock is free, if nobody renews it
local answer = {0, ttl, -1}

-- enter puts the owner at the end: as long after the last one's deadline as its patience is. If the last one is
-- Redisson's, it may have waited for long, and will subtract its whole patience from us when it acquires. The hundredth
-- of a second is the difference between two readings of the same clock.
local function enter()
  local deadline = over + patience
  local last = redis.call('lindex', KEYS[2], -1)
  local before = last and redis.call('zscore', KEYS[3], last)
  if before then
    deadline = math.max(deadline, tonumber(before) + patience)
  end
  if last and not redis.call('zscore', KEYS[4], last) then
    local enough = over + REDISSON_PATIENCE + patience
    if enough > deadline + 10 then
      deadline = enough
    end
  end
  redis.call('zadd', KEYS[3], digits(deadline), owner)
  redis.call('zadd', KEYS[4], digits(now + patience), owner)
  return redis.call('rpush', KEYS[2], owner) - 1
end

local function scores(key)
  local pairs = redis.call('zrange', key, 0, -1, 'withscores')
  local found = {}
  for i = 1, #pairs, 2 do
    found[pairs[i]] = tonumber(pairs[i + 1])
  end
  return found
end

-- confirm moves on what is known of our owners. A deadline stays a chain (at least a patience after the one in front,
-- never lowered) and also covers what all in front may subtract before it is confirmed again. Who stands behind is moved
-- on by as much, Redisson's too. So everybody keeps its place, and the difference between the deadline of one of
-- Redisson's and that of the one in front stays what it was when it came: what it will subtract. More than usual is
-- taken for what somebody between the two has left behind. The first of all has nobody in front to compare with.
--
-- What an owner of another process subtracts is not written anywhere: most likely what we do, and not less than the time
-- for which it is known to be alive.
local function confirm(ours)
  local places = {}
  local deadlines, alive = scores(KEYS[3]), scores(KEYS[4])
  local sum, added, before = over, 0, nil -- before: as it was
  for i, member in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
    local mine, deadline = ours[member], deadlines[member]
    if mine then
      sum = sum + mine
      local least = math.max(sum, (before or 0) + added + mine)
      deadline = deadline or least - added
      added = math.max(added, least - deadline)
      redis.call('zadd', KEYS[4], digits(now + mine), member)
      places[member] = i - 1
    elseif alive[member] then
      sum = sum + math.max(alive[member] - now, patience)
    else
      local usual = not before or not deadline or deadline <= before or deadline - before > REDISSON_PATIENCE
      sum = sum + (usual and REDISSON_PATIENCE or deadline - before)
    end
    if deadline and deadline + added ~= deadlines[member] then
      redis.call('zadd', KEYS[3], digits(deadline + added), member)
    end
    before = deadline or before
  end
  return places
end

-- offer asks one of Redisson's, who is next and has not taken the free lock, to come, and brings its deadline near: it
-- may have died with one that is minutes away. Who is late loses its place and nothing else, for it stands at the end
-- again when it asks. Only who stands in the queue offers. So somebody stands behind, whose deadline is the later one
-- from which the next to come counts.
local function offer(waiter)
  local deadline = tonumber(redis.call('zscore', KEYS[3], waiter))
  if patience > 0 and ARGV[4] ~= '' then
    local heard = redis.call(ARGV[4], ARGV[5] .. ':' .. waiter, '0')
    local near = now + (heard > 0 and SLOW or SILENT)
    if near < deadline then
      redis.call('zadd', KEYS[3], digits(near), waiter)
      deadline = near
    end
  elseif removed > 0 and ARGV[4] ~= '' then
    redis.call(ARGV[4], ARGV[5] .. ':' .. waiter, '0')
  end
  return deadline
end

if patience > 0 then
  local longest = patience
  local place = redis.call('lpos', KEYS[2], owner)
  local ours = {}
  if not place then
    place = enter()
  else
    ours[owner] = patience
  end
  for i = 6, #ARGV, 2 do
    ours[ARGV[i]] = tonumber(ARGV[i + 1])
    longest = math.max(longest, ours[ARGV[i]])
  end
  if next(ours) then
    local places = confirm(ours)
    for i = 6, #ARGV, 2 do
      answer[#answer + 1] = places[ARGV[i]] or -1
    end
  end
  answer[3] = place
  redis.call('pexpire', KEYS[4], digits(math.max(KEEP, 4 * longest)))
end

if free then
  local gone = tonumber(redis.call('zscore', KEYS[4], head))
  if not gone then
    gone = offer(head)
  elseif removed > 0 and ARGV[4] ~= '' then
    redis.call(ARGV[4], ARGV[5] .. ':' .. head, '0')
  end
  answer[2] = math.max(gone - now, 1)
end
return answer
