-- row knows which processes wait for a lock, in the order in which they came. It is a prelude, joined in front of the
-- script.
--
-- row    sorted set: owner that is to hold when its process has its turn -> when it sat down, in microseconds
-- alive  sorted set: the same owner -> until when its process is known to be there, in milliseconds; negative if the owner
--        cannot be passed the lock: its process is only told to look, and asks
--
-- What goes with a row has another word in its name, and nothing behind it: a suffix would make of it the row of a lock
-- whose name ends in that.
--
-- Answers of the functions stand beside them. Both times are the server's. The row is an extra: where it cannot be had,
-- for want of memory or of a permission, nobody sits in it, and a release is for everybody. That is why its commands are
-- called so that they may be refused.

local function refused(reply)
  return type(reply) == 'table' and reply.err ~= nil
end

-- clock answers the time in microseconds as text, nil when that is not permitted. To make text of a number takes a server
-- that has been idle longer than a command does. Without its last three digits the text is the time in milliseconds.
local function clock()
  local time = redis.pcall('time')
  if not refused(time) then
    return time[1] .. string.sub('00000' .. time[2], -6)
  end
end

-- beside is the key of what goes with a row.
local function beside(row, what)
  return (string.gsub(row, 'row', what, 1))
end

-- rise has an owner leave the row, and answers whether it was there.
local function rise(row, owner)
  redis.pcall('zrem', beside(row, 'alive'), owner)
  return redis.pcall('zrem', row, owner) == 1
end

-- sit has an owner sit down at the end of the row. Who sits already keeps its place; only if that is in the future, for the
-- clock was set back, it sits down anew, or it would be behind all who come until then. It is known to be there for patience
-- milliseconds from now on; with looks, as one that cannot be passed the lock. It answers the time in milliseconds, 0 when
-- there is no row.
local function sit(row, owner, patience, looks)
  local now = clock()
  if not now or refused(redis.pcall('zadd', row, 'LT', now, owner)) then
    return 0
  end
  local ms, alive = tonumber(string.sub(now, 1, -4)), beside(row, 'alive')
  local till = string.format(looks and '-%.0f' or '%.0f', ms + patience)
  if refused(redis.pcall('zadd', alive, till, owner)) then
    rise(row, owner) -- or the row would last for ever
    return 0
  end
  for _, key in ipairs({row, alive}) do
    if redis.call('pttl', key) < tonumber(patience) then
      redis.call('pexpire', key, patience)
    end
  end
  return ms
end

-- outsiders tells whether processes wait that are in no row: more listen to the wake channel than to the one of the processes
-- that know rows. It is also true where that cannot be known. listeners is the subcommand of PUBSUB that counts them.
local function outsiders(listeners, channel, row)
  local count = redis.pcall('pubsub', listeners, channel, row .. ':known')
  return refused(count) or tonumber(count[2]) > tonumber(count[4])
end
