-- others tells whether others wait for permits than the calls of one process. It is a prelude behind announce.
-- KEYS[#KEYS]  process queue, where it can be used

-- others looks at the queue beyond the candidates of a session, and at who listens to the wake channel. It answers '1' when
-- no other waits, '2' when a connection listens that is not known to be of this library, and '0' when a process stands in the queue,
-- or when that cannot be known. Then the session's own candidates stand behind that process.
local function others(publish, channel, row, session)
  local first = row == KEYS[#KEYS] and redis.pcall('zrange', row, '0', 'inf', 'byscore', 'limit', 0, 9, 'withscores')
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
