-- row knows which processes wait for a lock, in the order in which they came. It is a prelude, joined in front of the
-- script, which defines at.
-- KEYS[at]      row: sorted set, owner that is to hold when its process has its turn -> when it sat down, in microseconds
-- KEYS[at + 1]  alive: sorted set, the same owner -> until when its process is known to be there, in milliseconds; negative
--               if the owner cannot be passed the lock: its process is only told to look, and asks
-- KEYS[at + 2]  open: there while the lock is free only for those who sit in no row
-- KEYS[at + 3]  windows: how often in a row it was left to them
--
-- They are declared behind the others, or left out: then there is no row. Each costs the server time, so a script declares no more
-- of them than it uses: all do the first two.
--
-- Both times are the server's. The row is an extra: where it cannot be had, for want of memory or of a permission, no
-- process stands in it, and a release is for all. That is why its commands are called so that they may be refused.

local row, alive, open, windows = KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]

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

-- rise has an owner leave the row, and answers whether it was there.
local function rise(owner)
  local left = row and redis.pcall('zrem', alive, owner) and redis.pcall('zrem', row, owner)
  return left == 1
end

-- sit has an owner sit down at the end of the row. Who sits already keeps its place; only if that is in the future, for the
-- clock was set back, it sits down anew, or it would be behind all who come until then. It is known to be there for patience
-- milliseconds from now on, negative for one that cannot be passed the lock. It answers the time in milliseconds, 0 when
-- there is no row.
local function sit(owner, patience)
  local now = row and clock()
  if not now or refused(redis.pcall('zadd', row, 'LT', now, owner)) then
    return 0
  end
  local ms = tonumber(string.sub(now, 1, -4))
  local till = patience < 0 and patience - ms or patience + ms
  if refused(redis.pcall('zadd', alive, string.format('%.0f', till), owner)) then
    rise(owner) -- or the row would last for ever
    return 0
  end
  for _, key in ipairs({row, alive}) do
    local lasts = redis.pcall('pttl', key)
    if refused(lasts) or lasts < math.abs(patience) and refused(redis.pcall('pexpire', key, math.abs(patience))) then
      rise(owner)
      return 0
    end
  end
  return ms
end

-- outsiders tells whether processes wait that are in no row: more listen to the wake channel than to the one of the processes
-- that know rows. It is also true where that cannot be known. listeners is the subcommand of PUBSUB that counts them.
local function outsiders(listeners, channel)
  local count = redis.pcall('pubsub', listeners, channel, row .. ':known')
  return refused(count) or tonumber(count[2]) > tonumber(count[4])
end
