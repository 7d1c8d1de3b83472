-- pass ends all holds of an owner and has the first in the row hold. When no process stands there the next waiter of the giver's own
-- process holds, or the lock is free, and the waiters are woken. It follows the preludes lone, row, and one that defines issue
-- and own.
-- KEYS[1-2]    lock hash: field = owner, value = holds; token, for issue
-- KEYS[at]     row, and those behind it, for row: two of them, with ARGV[8] all four
-- ARGV[1]      owner who gives
-- ARGV[2]      PUBLISH or SPUBLISH; empty for no message
-- ARGV[3]      wake channel
-- ARGV[4]      lease of who is passed the lock, in milliseconds; 0 to pass it to none
-- ARGV[5]      optional: owner that sits down behind the others, whatever becomes of the lock; empty for none
-- ARGV[6]      optional: for how many milliseconds its process is known to be there
-- ARGV[7]      optional: for how many milliseconds it has gone round, without its being free for longer than a moment
-- ARGV[8]      optional: for how many milliseconds the lock is free for outsiders only, if there are any; 0 to pass it whether outsiders wait or not
-- ARGV[9]      optional: 1 if the owner that sits down cannot be passed the lock
-- ARGV[10]     optional: 1 if the time of ARGV[8] is not for outsiders that listen only, but also for those that only poll
-- ARGV[11]     optional: fresh owner of the giver's process that is to hold if no other process waits
-- ARGV[12-13]  optional: its lease in milliseconds; optional: how many tokens it is issued
-- ARGV[14]     optional: the least that the last of them may be: so many above the tokens of the owner who gives
--
-- An owner in the row that cannot be passed the lock is only told: it leaves the row, the lock is free, and its process asks.
-- The message to all is sent then too if there are outsiders, which are in no row. Processes that know rows listen to
-- one channel more, by which the others are counted.
--
-- Answers 0 when the owner held nothing, which has it leave the row; 1 when the lock is free; 2 when it is free for outsiders
-- only for the time of ARGV[8], and 4 for eight times as long; 3 when it is free and one process was told; 5 when the owner of
-- ARGV[11] holds, by this execution or by an earlier one of the same command; else the time in milliseconds at which it was
-- passed on. With ARGV[11] that is the first of an array, and the last token of that owner, and the number of its tokens follow.

local seat, next = ARGV[5] or '', ARGV[11]
-- For so many milliseconds it is known that the lock was left to outsiders. One that has gone round for less than shut is left to
-- them again only when apart has passed, so that a lock which is always asked for them does not stand open most of the time.
local remembered, shut, apart = 1000, 25, 60
if had == 0 then
  if next and redis.call('hexists', KEYS[1], next) == 1 then
    return {5, own(ARGV[14]), ARGV[13]}
  end
  -- An owner that was told, and did not look, left the row before. The lock may be free, and no other process knows.
  if not rise(ARGV[1]) and ARGV[2] ~= '' and redis.call('exists', KEYS[1]) == 0 and redis.pcall('exists', row) == 1 then
    redis.call(ARGV[2], ARGV[3], '0')
  end
  return next and {0, '0', 0} or 0
end
-- rested tells whether outsiders were not left the lock just now, where the giver does not know for how long
-- it has gone round.
local function rested()
  local lasts = redis.pcall('pttl', windows)
  return refused(lasts) or lasts <= remembered - apart
end

local listeners = ARGV[2] == 'SPUBLISH' and 'shardnumsub' or 'numsub'
local whoever = ARGV[10] == '1'
local yields = (ARGV[8] or '0') ~= '0'
  and (whoever or outsiders(listeners, ARGV[3]) and (tonumber(ARGV[7]) >= shut or rested()))
local passed, alone = 1, false
if ARGV[4] ~= '0' and not yields then
  if seat ~= '' then
    rise(seat) -- it may have sat down while its own process had the lock
  end
  local now
  while passed == 1 do -- a process that is not there any more leaves the row
    first = first or redis.pcall('zpopmin', row)
    if refused(first) or #first == 0 then
      alone = not refused(first)
      break
    end
    local owner = first[1]
    first = nil
    local known = redis.pcall('zscore', alive, owner)
    redis.pcall('zrem', alive, owner)
    now = now or clock()
    if not now then
      break
    end
    local ms = string.sub(now, 1, -4)
    local till = known and not refused(known) and tonumber(known) or 0
    if math.abs(till) >= tonumber(ms) then
      -- On a cluster without sharded channels only the subscribers of this node are known, and nobody else is passed the
      -- lock: a message must not reach a process that was taken for gone.
      local channel = row .. ':' .. (string.match(owner, '^(.*):') or '')
      local ears = redis.pcall('pubsub', listeners, channel)
      local there = not refused(ears) and tonumber(ears[2]) > 0
      if there and till < 0 then
        if not refused(redis.pcall(ARGV[2], channel, owner .. ' ' .. ms)) then
          passed = 3
        end
        break
      elseif there then
        local token = issue()
        if refused(token) then
          break
        end
        -- While the slot leaves this server, a key that is gone cannot be made here again. Then the lock is free.
        if refused(redis.pcall('hset', KEYS[1], owner, '1')) then
          break
        end
        if refused(redis.pcall('pexpire', KEYS[1], ARGV[4])) then -- a lock must not stay that has no TTL
          redis.call('hdel', KEYS[1], owner)
          break
        end
        local message = table.concat({owner, ms, token, ARGV[7] or '0'}, ' ')
        if refused(redis.pcall(ARGV[2], channel, message)) then
          redis.call('hdel', KEYS[1], owner)
          break
        end
        passed = tonumber(ms)
      end
    end
  end
end
if alone and next then
  local token = issue(ARGV[13])
  if not refused(token) and not refused(redis.pcall('hset', KEYS[1], next, '1')) then -- else it is free, as above
    if not refused(redis.pcall('pexpire', KEYS[1], ARGV[12])) then
      return {5, token, ARGV[13]}
    end
    redis.call('hdel', KEYS[1], next)
  end
end
if seat ~= '' then
  sit(seat, ARGV[6], ARGV[9] == '1')
end
if yields then
  -- Every eighth time in a row is eight times as long: for outsiders that need longer from the message to their question.
  local length = tonumber(ARGV[8])
  passed = 2
  if not whoever and not refused(redis.pcall('set', windows, '0', 'NX', 'PX', remembered)) then
    local count = redis.pcall('incr', windows)
    if not refused(count) and count % 8 == 0 then
      length, passed = 8 * length, 4
    end
    redis.pcall('pexpire', windows, remembered + length)
  end
  -- Those in the row hear the message too, and are faster than a JVM. They find this when they ask.
  redis.pcall('set', open, table.concat({length, whoever and 'whoever' or listeners, ARGV[3]}, ' '), 'PX', length)
end
if passed <= 4 and ARGV[2] ~= '' and (passed ~= 3 or outsiders(listeners, ARGV[3])) then
  redis.call(ARGV[2], ARGV[3], '0')
end
return next and {passed, '0', 0} or passed
