-- permits reads the semaphore for the script that follows it, and has what such scripts share. It is a prelude, joined
-- in front of the script, behind clock, and the preludes lane and announce where these are used.
-- KEYS[1]      semaphore: permits available
-- KEYS[i]      taken, a name that is defined in front: the permits taken, a sorted set, member = id of 16 bytes, score = deadline
--              in milliseconds by the server's clock
-- ARGV[i]      from some place on: ids
--
-- Answers an error when a key is something else; else the script goes on with available, a number, or false when there
-- is no semaphore. Permits that are left without one belong to no semaphore and are not counted.

local permanent = 922337203685477 -- the score of a permit without a deadline, to the digit as Redisson has it

local available = redis.call('get', KEYS[1])
if available then
  -- Within these bounds Lua is exact, and nothing that is added here can fail after a first write.
  if not string.match(available, '^-?%d+$') or math.abs(tonumber(available) or math.huge) > 4503599627370496 then
    return redis.error_reply('ERR ' .. KEYS[1] .. ' holds something that is not a number of permits; remove it or use another name')
  end
  available = tonumber(available)
end
redis.call('zcard', taken) -- raises when it is something else, before anything was written

local now = clock()

-- add changes what is available. Behind another write, a server that is out of memory lets it pass.
local function add(number)
  if available and number ~= 0 then
    redis.call('incrby', KEYS[1], whole(number))
    available = available + number
  end
end

-- reclaim puts back all permits whose deadline has passed, by one command whatever their number, and answers how many.
-- It writes only if there are some: behind a write, a server that is out of memory would let an acquisition pass. ZREM is the first,
-- for such a server never refuses it. A user who may not remove permits must not add them.
local function reclaim()
  local expired = redis.call('zcount', taken, '0', whole(now))
  if expired == 0 then
    return 0
  end
  redis.call('zrem', taken, '')
  add(expired)
  local removed = redis.pcall('zremrangebyscore', taken, '0', whole(now))
  if type(removed) == 'table' then
    add(-expired)
    error('nothing was changed: ' .. removed.err, 0)
  end
  return expired
end

-- giveBack puts back the permits that are there of those whose ids are the arguments from first on, and answers how
-- many; or the error with which that was refused, and then it has changed nothing. It adds before it removes: what was added can be
-- taken back, and what was removed cannot.
local function giveBack(first)
  local all, removed = #ARGV - first + 1, 0
  if available then
    redis.pcall('zrem', taken, '') -- for a server that is out of memory
    local reply = redis.pcall('incrby', KEYS[1], whole(all))
    if type(reply) == 'table' then
      return reply
    end
    available = available + all
  end
  for i = first, #ARGV do
    local gone = redis.pcall('zrem', taken, ARGV[i])
    if type(gone) == 'table' then
      add(-all)
      return gone
    end
    removed = removed + gone
  end
  add(removed - all)
  return removed
end

-- complete tells whether all permits are there whose ids are the arguments from first on.
local function complete(first)
  for i = first, #ARGV do
    if not redis.call('zscore', taken, ARGV[i]) then
      return 0
    end
  end
  return available and 1 or 0
end

-- deadline is the score that a lease makes, by the clock of the server; a lease of -1 never ends.
local function deadline(lease)
  return whole(lease < 0 and permanent or now + lease)
end

-- follow gives the permits the TTL of the semaphore: without it they would outlive it, and with another one their
-- number would be lost to the semaphore.
local function follow()
  local ttl = redis.call('pttl', KEYS[1])
  if ttl < 0 then
    redis.call('persist', taken)
  else
    redis.call('pexpire', taken, whole(math.max(ttl, 1)))
  end
end

-- make sets up a semaphore that is not there, behind settle. ttl is in milliseconds, 0 for none. Permits that outlived an earlier
-- semaphore of the name count as taken from this one, to which they return.
local function make(permits, ttl)
  available = permits - redis.call('zcard', taken)
  if ttl == '0' then
    write(false, 'persist', taken)
  else
    write(false, 'pexpire', taken, ttl)
  end
  write(false, 'set', KEYS[1], whole(available), unpack(ttl == '0' and {} or {'px', ttl}))
end

-- offer wakes waiters if there is anything to have. Redisson's take the number for how many of them may try. A message
-- that the server refuses, to a user who may not publish, is as good as lost: the waiters poll. An error would say that
-- nothing was done, and what an acquisition has taken would be lost.
local function offer(publish, channel, row, number)
  if available and available > 0 and number > 0 then
    announce(publish, channel, row, whole(number), available)
  end
end

-- returned wakes waiters when so many permits had expired, and so many were given back. It publishes the new total if some had
-- expired, or one permit was given back, and the number of several, as Redisson does.
local function returned(publish, channel, row, expired, removed)
  offer(publish, channel, row, (expired > 0 or removed == 1) and (available or 0) or removed)
end
