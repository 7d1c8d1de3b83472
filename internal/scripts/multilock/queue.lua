-- queue has the processes that wait for the same values stand in one process queue, in the order in which they came. It is a prelude,
-- behind clock.
-- KEYS[2]  sorted set: candidate, which is the session of a process, a colon, and a number -> when it came, in milliseconds; left out
--          where it cannot be had
--
-- Answers of its functions stand beside them. The queue is an extra, so its commands may be refused.

local queue = KEYS[2]

-- stand has a candidate stand behind the others, or in the place that it has. It is known to be there for so many milliseconds.
local function stand(candidate, patience)
  redis.pcall('zadd', queue, 'LT', text(clock()), candidate)
  local lasts = redis.pcall('pttl', queue)
  if type(lasts) == 'number' and lasts < tonumber(patience) then
    redis.pcall('pexpire', queue, patience)
  end
end

-- tell tells the first process that is there that it may have the values, and takes it out of the queue, as it does those that are
-- gone. It answers whether one was told, and then whether more listen to the channel than processes that know the queue.
local function tell(publish, channel)
  local listeners, told, others = publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', false, true
  while queue and not told do
    local first = redis.pcall('zpopmin', queue)
    if first.err or #first == 0 then
      break
    end
    local own = queue .. ':' .. string.match(first[1], '^[^:]*')
    local count = redis.pcall('pubsub', listeners, own, channel, queue .. ':known')
    if count.err then
      break
    end
    if tonumber(count[2]) > 0 then
      local heard = redis.pcall(publish, own, first[1] .. ' ' .. text(clock()))
      told, others = type(heard) == 'number', tonumber(count[4]) > tonumber(count[6])
    end
  end
  return told, others
end
