-- announce tells one process that permits, or the values of a group, can be had. It is a prelude behind told.
-- KEYS[#KEYS]  process queue, where it can be used; else an argument alone says how it would be called, or that there is none
--
-- Where the queue cannot be used all are told. So it is where the server refuses a command for it.

-- announce tells one process of this library. Where none was told the message on the wake channel is for all; else
-- it is for the others who listen there, if there are any, and begins with a zero.
local function announce(publish, channel, row, number, permits)
  local told, others = false, true
  if row == KEYS[#KEYS] then
    told, others = tell(publish, channel, row, permits)
  end
  if others then
    redis.pcall(publish, channel, told and '0' .. number or number)
  end
end

-- others looks at the queue beyond the candidates of a session, and at who listens to the wake channel. It answers '1' when
-- no other waits, '2' when a connection listens that is not known to be of this library, and '0' when a process stands in the queue,
-- or when that cannot be known. Then the session's own candidates stand behind that process.
local function others(publish, channel, row, session)
  local first = row == KEYS[#KEYS] and redis.pcall('zrange', row, '0', 'inf', 'byscore', 'limit', '0', '9', 'withscores')
  if not first or first.err then
    return '0'
  end
  local mine = {}
  for i = 1, #first, 2 do
    if string.match(first[i], '^[^:]*') == session then
      mine[#mine + 1] = i
    elseif call(publish, channel, row, first[i]) ~= 'gone' then
      local known, now = pcall(clock)
      for _, own in ipairs(known and mine or {}) do
        redis.pcall('zadd', row, 'XX', whole(now * span + first[own + 1] % span), first[own])
      end
      return '0'
    end
  end
  local outcome, some = call(publish, channel, row, session)
  return outcome == 'unknown' and '0' or some and '2' or '1'
end
