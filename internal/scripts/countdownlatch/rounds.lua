-- rounds keeps what the latch itself cannot say: which time it is set, and how that ended. It is a prelude, joined in front
-- of the script, behind lane and value.
-- KEYS[1]  latch: what is still to be counted
-- ARGV[3-4]  PUBLISH or SPUBLISH; wake channel, for finish
-- KEYS[3]  record of the latch, a hash:
--            epoch    drawn when the record was made: another one means that the record was lost meanwhile
--            round    how often this library has set the latch since then
--            end      how the last of these rounds ended: counted or deleted; missing while it goes on, as far as is known
--            until    when the TTL of that round runs out, in milliseconds since 1970; missing without a TTL
--            foreign  how the latch ended that another program set after that round; missing if there was none, if
--                     another program ended it, or if a waiter has seen the next one
--            past     earlier rounds that were not counted down, the latest first, as "7d 4x": d deleted, x expired; 0 is
--                     the latch of another program that was there before the last round
--            from     the first round of which past would say so; missing for 1
--
-- Answers nothing itself: the script behind it does. The record is no longer there when the latch was not used for a
-- day.

local day = 86400000
local most = 16 -- elements of past

local record = {}

-- recall reads the record. It comes before the first write, for it raises when the key is something else. What should be a
-- number and is none counts as missing.
local function recall()
  local fields = redis.call('hgetall', KEYS[3])
  for i = 1, #fields, 2 do
    record[fields[i]] = fields[i + 1]
  end
  for _, field in ipairs({ 'round', 'until' }) do
    record[field] = tonumber(record[field]) and record[field]
  end
end

-- finish ends the latch, notes how, tells the waiters, and stores and answers what the script is to. PEXPIRE is the first write, for a server that is out
-- of memory lets it pass, and what follows. Behind the deletion nothing is refused: HSET and PEXPIRE were permitted before.
local function finish(how, answer)
  recall()
  write(true, 'pexpire', KEYS[3], whole(day))
  change(true, answer, 'del', KEYS[1])
  redis.call('hset', KEYS[3], record.round and not record['end'] and 'end' or 'foreign', how)
  redis.call('pexpire', KEYS[3], whole(day))
  if tonumber(value) > 0 or how == 'deleted' then
    redis.pcall(ARGV[3], ARGV[4], '0')
  end
  return tonumber(answer)
end

-- start begins a round in the record at the moment now, behind the write that sets the latch. ttl is in milliseconds, 0 for none.
-- Nothing of it is refused: DEL, HSET and PEXPIRE were permitted before.
local function start(epoch, ttl, now)
  local past, from = {}, record.from
  local function add(round, how)
    if #past < most then
      past[#past + 1] = round .. how
    elseif #past == most then
      from = whole(round + 1)
      past[#past + 1] = false
    end
  end
  if record.foreign == 'deleted' then
    add('0', 'd')
  end
  if record['end'] == 'deleted' then
    add(record.round, 'd')
  elseif record.round and not record['end'] and record['until'] and now >= tonumber(record['until']) then
    add(record.round, 'x')
  end
  for round, how in string.gmatch(record.past or '', '(%d+)(%a)') do
    if round ~= '0' then
      add(round, how)
    end
  end
  past[most + 1] = nil
  local all = { 'epoch', record.epoch or epoch, 'round', whole((record.round or 0) + 1) }
  local function put(field, value)
    if value then
      all[#all + 1], all[#all + 2] = field, value
    end
  end
  put('until', ttl > 0 and whole(now + ttl))
  put('past', #past > 0 and table.concat(past, ' '))
  put('from', from)
  redis.call('del', KEYS[3])
  redis.call('hset', KEYS[3], unpack(all))
  redis.call('pexpire', KEYS[3], whole(ttl + day))
end
