-- row knows which processes wait for a lock, in the order in which they came. It is a prelude, joined in front of the
-- script.
--
-- row        sorted set: owner that is to hold when its process has its turn -> when it sat down, in microseconds
-- row:alive  sorted set: the same owner -> until when its process is known to be there, in milliseconds
--
-- Answers of the functions stand beside them. Both times are the server's. The row is an extra: where it cannot be had,
-- for want of memory or of a permission, nobody sits in it, and a release is for everybody. That is why its commands are
-- called so that they may be refused.

local function refused(reply)
  return type(reply) == 'table' and reply.err ~= nil
end

local function digits(number)
  return string.format('%.0f', number)
end

-- clock answers the time in microseconds, nil when that is not permitted.
local function clock()
  local time = redis.pcall('time')
  if not refused(time) then
    return time[1] * 1000000 + time[2]
  end
end

-- rise has an owner leave the row.
local function rise(row, owner)
  redis.pcall('zrem', row, owner)
  redis.pcall('zrem', row .. ':alive', owner)
end

-- sit has an owner sit down at the end of the row, unless it sits already. It is known to be there for patience
-- milliseconds from now on. It answers the time in milliseconds, 0 when there is no row.
local function sit(row, owner, patience)
  local now = clock()
  if not now or refused(redis.pcall('zadd', row, 'NX', digits(now), owner)) then
    return 0
  end
  local ms = math.floor(now / 1000)
  if refused(redis.pcall('zadd', row .. ':alive', digits(ms + patience), owner)) then
    rise(row, owner) -- or the row would last for ever
    return 0
  end
  for _, key in ipairs({row, row .. ':alive'}) do
    if redis.call('pttl', key) < tonumber(patience) then
      redis.call('pexpire', key, patience)
    end
  end
  return ms
end

-- call has the first in the row leave it, and whoever is not there any more before it. It answers the owner, empty when
-- there is none, the channel on which its process listens, and the time in milliseconds.
local function call(row, publish)
  local now = 0
  while true do
    local first = redis.pcall('zpopmin', row)
    if refused(first) or #first == 0 then
      return '', '', now
    end
    local owner = first[1]
    local alive = redis.pcall('zscore', row .. ':alive', owner)
    redis.pcall('zrem', row .. ':alive', owner)
    if now == 0 then
      local time = clock()
      if not time then
        return '', '', now
      end
      now = math.floor(time / 1000)
    end
    if alive and not refused(alive) and tonumber(alive) >= now then
      -- On a cluster without sharded channels only the subscribers of this node are known, and nobody else is called: a
      -- message must not reach a process that was taken for gone.
      local channel = row .. ':' .. (string.match(owner, '^(.*):') or '')
      local ears = redis.pcall('pubsub', publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', channel)
      if not refused(ears) and tonumber(ears[2]) > 0 then
        return owner, channel, now
      end
    end
  end
end

-- outsiders answers whether more processes listen for a release than sit in the row and the one that gives, whose own ears
-- are none or one and whose seat may be in the row. It answers true when that cannot be known.
local function outsiders(row, seat, ears_of_giver, publish, channel)
  local ears = redis.pcall('pubsub', publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', channel)
  local inside = redis.pcall('zcard', row)
  if refused(ears) or refused(inside) then
    return true
  end
  if seat ~= '' and redis.pcall('zscore', row, seat) then
    inside = inside - 1
  end
  return tonumber(ears[2]) > inside + tonumber(ears_of_giver)
end
