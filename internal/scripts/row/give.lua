-- give has the first in the row hold. It is a prelude of pass and close, behind lone, row, and one that defines issue and own.
-- KEYS[1-2]  lock hash: field = owner, value = holds; token, for issue
-- ARGV[1-6]  as pass has them

local FREE, OPEN, LONGER, TOLD, PASSED, KEPT = 1, 2, 3, 4, 5, 6
-- For so many milliseconds it is known that the lock was left to outsiders. One that has gone round for less than shut is left to
-- them again only when apart has passed, so that a lock which is always asked for them does not stand open most of the time.
local remembered, shut, apart = 1000, 25, 60

local listeners = ARGV[2] == 'SPUBLISH' and 'shardnumsub' or 'numsub'
local length = tonumber(ARGV[6] or '0')
local whoever, yields = length < 0, length ~= 0
if length > 0 then
  yields = outsiders(listeners, ARGV[3])
  if yields and tonumber(ARGV[5]) < shut then -- whether they were not left the lock just now
    local lasts = redis.pcall('pttl', windows)
    yields = refused(lasts) or lasts <= remembered - apart
  end
end

-- lost is for an owner that holds nothing. One that was told, and did not look, left the row before. The lock may be free, and no
-- other process knows. It answers 0.
local function lost()
  if not rise(ARGV[1]) and ARGV[2] ~= '' and redis.call('exists', KEYS[1]) == 0 and redis.pcall('exists', row) == 1 then
    redis.call(ARGV[2], ARGV[3], '0')
  end
  return 0
end

-- hold has an owner hold that is issued so many tokens, one if that is left out, and answers the last of them; else false, and the lock is
-- free. While the slot leaves this server, a key that is gone cannot be made here again, and a lock must not stay that has no TTL.
local function hold(owner, lease, tokens)
  local token = issue(tokens)
  if refused(token) or refused(redis.pcall('hset', KEYS[1], owner, '1')) then
    token = false
  elseif refused(redis.pcall('pexpire', KEYS[1], lease)) then
    redis.call('hdel', KEYS[1], owner)
    token = false
  end
  return token
end

-- give has the first in the row hold, if the lock may be passed. A process that is not there any more leaves the row. It answers the
-- outcome, then the time in milliseconds at which the lock was passed, or 0, and then whether no process stood in the row.
local function give()
  local now
  while ARGV[4] ~= '0' and not yields do
    first = first or redis.pcall('zpopmin', row)
    if refused(first) or #first == 0 then
      return FREE, 0, not refused(first)
    end
    local owner = first[1]
    first = nil
    local till = tonumber(redis.pcall('zscore', alive, owner)) or 0
    redis.pcall('zrem', alive, owner)
    now = now or clock()
    if not now then
      break
    end
    local ms = string.sub(now, 1, -4)
    -- On a cluster without sharded channels only the subscribers of this node are known, and nobody else is passed the
    -- lock: a message must not reach a process that was taken for gone.
    local channel = row .. ':' .. (string.match(owner, '^(.*):') or '')
    local ears = math.abs(till) >= tonumber(ms) and redis.pcall('pubsub', listeners, channel)
    if ears and not refused(ears) and tonumber(ears[2]) > 0 then
      if till < 0 then
        return refused(redis.pcall(ARGV[2], channel, owner)) and FREE or TOLD, 0, false
      end
      local token = hold(owner, ARGV[4])
      if not token then
        break
      elseif refused(redis.pcall(ARGV[2], channel, table.concat({owner, ms, token, ARGV[5] or '0'}, ' '))) then
        redis.call('hdel', KEYS[1], owner)
        break
      end
      return PASSED, tonumber(ms), false
    end
  end
  return FREE, 0, false
end

-- set_free is for a lock that is free, if the outcome is not that it was passed, and answers the outcome.
local function set_free(outcome)
  if yields then
    -- Every eighth time in a row is eight times as long: for outsiders that need longer from the message to their question.
    outcome, length = OPEN, math.abs(length)
    if not whoever and not refused(redis.pcall('set', windows, '0', 'NX', 'PX', remembered)) then
      local count = redis.pcall('incr', windows)
      if not refused(count) and count % 8 == 0 then
        length, outcome = 8 * length, LONGER
      end
      redis.pcall('pexpire', windows, remembered + length)
    end
    -- Those in the row hear the message too, and are faster than a JVM. They find this when they ask.
    redis.pcall('set', open, table.concat({length, whoever and 'whoever' or listeners, ARGV[3]}, ' '), 'PX', length)
  end
  if outcome ~= PASSED and ARGV[2] ~= '' and (outcome ~= TOLD or outsiders(listeners, ARGV[3])) then
    redis.call(ARGV[2], ARGV[3], '0')
  end
  return outcome
end
