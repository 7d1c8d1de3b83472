-- others tells whether others wait for permits than the calls of one process. It is a prelude, and follows announce.
-- KEYS[#KEYS]  row, where it can be used
--
-- Answers of the functions stand beside them.

-- others looks at the row beyond the candidates of a session, and at who listens to the wake channel. It answers '1' when
-- no other waits, '2' when a connection listens that is not known to be of this library, and '0' when a process waits in the row,
-- or when that cannot be known. Then the session's own candidates stand behind that process.
local function others(publish, channel, row, session)
  local listeners, mine = publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', {}
  local first = row == KEYS[#KEYS] and redis.pcall('zrange', row, 0, 8, 'withscores')
  if not first or first.err then
    return '0'
  end
  for i = 1, #first, 2 do
    local its = string.match(first[i], '^[^:]*')
    if its == session then
      mine[#mine + 1] = i
    else
      local there = redis.pcall('pubsub', listeners, row .. ':' .. its)
      if there.err or tonumber(there[2]) > 0 then
        local time = redis.pcall('time')
        for _, own in ipairs(time.err and {} or mine) do
          local place = time[1] * 1000 + math.floor(time[2] / 1000)
          redis.pcall('zadd', row, 'XX', string.format('%.0f', place * span + first[own + 1] % span), first[own])
        end
        return '0'
      end
      redis.pcall('zrem', row, first[i])
    end
  end
  local count = redis.pcall('pubsub', listeners, channel, row .. ':known')
  if count.err then
    return '0'
  end
  return tonumber(count[2]) > tonumber(count[4]) and '2' or '1'
end
