-- acquire takes a fair lock for an owner who is next, or else gives the owner a place in the queue or confirms it.
-- KEYS[1-5]    lock hash; queue; timeouts; alive: see queue; never there: while their slot moves the script is refused
-- ARGV[1-2]    owner; lease in milliseconds
-- ARGV[3]      patience in milliseconds; 0 for an owner who does not queue
-- ARGV[4]      PUBLISH or SPUBLISH; empty for no message
-- ARGV[5]      base channel; a waiter's own is this, a colon and the waiter
-- ARGV[6]      row; the channel of a process is this, a colon and its session
-- ARGV[7]      optional, as all that follow: how many owners of this process are finished with
-- ARGV[8]      how many owners of this process come for the lock behind this one
-- ARGV[i]      then those that are finished with: they leave the queue; those that come, each with its patience; and others
-- ARGV[i + 1]  of this process that wait already, each with its patience: their places are confirmed too
--
-- Answers an array: 1 when the owner holds the lock, by this execution or an earlier one, else 0; the milliseconds
-- after which asking again is worth while without a message (of the holder's lease, -1 when it has no end, or until the
-- next is taken for gone); where the owner stands: 0 is next, 1 behind another, -1 in no queue; the time in
-- milliseconds; 1 if owners wait or hold that are not of this library, 2 if one of these may be told that the lock is
-- free, and leave without a word because its time is over, else 0; then where the other owners stand. Of an owner that
-- holds three numbers, where no other waits or it held before, or five and then the numbers of the owners of its
-- process that stand behind it, one behind the other. An owner that is not in the queue is put at its end only by its
-- own command, or as one that comes, never as one of the others: it may have left.
--
-- A waiter of ours that becomes the next by this, while another holds, is told for how many milliseconds.

-- How long a Redisson waiter that is next may take to come when no connection listens on its channel, for two of our usual poll
-- intervals, so that one that comes back hears a second message; and when one listens, and it is suspended perhaps.
local SILENT, SLOW = 6000, 15000

local owner, lease, patience, row = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[6]
local finished, coming = tonumber(ARGV[7] or 0), tonumber(ARGV[8] or 0)
local arrivals = 9 + finished
local others = arrivals + 2 * coming
local free = ttl == -2
if finished > 0 then
  remove(9, finished)
end
local head, removed = front(free)
if free and (not head or head == owner) then
  take(KEYS[1], owner, ARGV[2])
  if head then
    enter(owner, lease)
    local behind = redis.call('lindex', KEYS[2], 0)
    if behind and string.match(behind, '.*:') ~= string.match(owner, '.*:') then -- else its process knows
      tell(behind, ARGV[4], ARGV[5], row, ARGV[2])
    end
  end
  if coming > 0 then
    arrive(arrivals, coming, now + lease)
  end
  return {1, 0, -1, now, pure and 0 or 1, unpack(following(string.match(owner, '^(.*):') or '', 0))}
end

if removed > 0 and not free and head ~= owner then
  tell(head, ARGV[4], ARGV[5], row, ttl)
end

local silent = false -- the next is one of Redisson's, and no connection listens there
local over = now + math.max(ttl, 0) -- when the lock is free, if it is not renewed
local again, places = ttl, {-1}

-- prolong moves on what is known of owners of ours in a queue that is pure, and answers who of them stands there. If the
-- sets disagree about a waiter the queue is not pure, and the answer incomplete.
local function prolong(owners, patiences)
  local stands = {}
  for _, name in ipairs(owners) do
    local lives, deadline = redis.call('zscore', KEYS[4], name), redis.call('zscore', KEYS[3], name)
    if not lives ~= not deadline then
      pure = false
      break
    elseif lives then
      stands[name] = true
      redis.call('zadd', KEYS[3], 'gt', whole(over + 2 * patiences[name]), name)
      redis.call('zadd', KEYS[4], whole(now + patiences[name]), name)
    end
  end
  return stands
end

-- offer asks one of Redisson's, who is next and has not taken the free lock, to come, and brings its deadline near. Only who
-- stands in the queue offers. So another stands behind, whose deadline is the later one from which the next to come counts.
local function offer(waiter)
  local deadline = tonumber(redis.call('zscore', KEYS[3], waiter))
  if patience > 0 and ARGV[4] ~= '' then
    local heard = redis.call(ARGV[4], ARGV[5] .. ':' .. waiter, '0')
    local near = now + (heard > 0 and SLOW or SILENT)
    silent = heard == 0
    if near < deadline then
      redis.call('zadd', KEYS[3], whole(near), waiter)
      deadline = near
    end
  elseif removed > 0 and ARGV[4] ~= '' then
    redis.call(ARGV[4], ARGV[5] .. ':' .. waiter, '0')
  end
  return deadline
end

if patience > 0 then
  local owners, patiences, longest = {owner}, {[owner] = patience}, patience
  for i = others, #ARGV, 2 do
    owners[#owners + 1], patiences[ARGV[i]] = ARGV[i], tonumber(ARGV[i + 1])
    longest = math.max(longest, patiences[ARGV[i]])
  end
  local stands = pure and prolong(owners, patiences) or {}
  if not pure and (#owners > 1 or redis.call('lpos', KEYS[2], owner)) then
    stands = survey(patiences, patience, over)
  end
  if not stands[owner] then
    local deadline = over + 2 * patience
    if head and not (pure and redis.call('zscore', KEYS[4], redis.call('lindex', KEYS[2], -1))) then
      deadline = last(over, patience)
    end
    redis.call('zadd', KEYS[3], whole(deadline), owner)
    redis.call('zadd', KEYS[4], whole(now + patience), owner)
    redis.call('rpush', KEYS[2], owner)
    stands[owner] = true
    head = head or owner
  end
  if coming > 0 then
    arrive(arrivals, coming, over)
  end
  for i, name in ipairs(owners) do
    places[i] = not stands[name] and -1 or name == head and 0 or 1
  end
  redis.call('pexpire', KEYS[4], whole(math.max(KEEP, 4 * longest)))
end

if free then
  local gone = tonumber(redis.call('zscore', KEYS[4], head))
  if not gone then
    gone = offer(head)
  elseif removed > 0 and ARGV[4] ~= '' then
    redis.call(ARGV[4], address(head, ARGV[4], ARGV[5], row, '0'))
  end
  again = math.max(gone - now, 1)
end
local foreign = pure and 0 or silent and 1 or 2
if pure and not free then -- the holder is Redisson's if its UUID is not of version 8
  local holder = redis.call('hgetall', KEYS[1])[1]
  foreign = holder and not string.match(holder, '^%x+%-%x+%-8') and 1 or 0
end
local answer = {0, again, places[1], now, foreign}
for i = 2, #places do -- they may be more than Lua's stack takes
  answer[i + 4] = places[i]
end
return answer
