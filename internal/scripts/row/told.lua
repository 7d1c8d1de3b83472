-- told tells the processes that wait for the same thing, in their order, that it is their turn to ask. It is a prelude behind clock.
--
-- The queue is a sorted set of candidate, which is the session of a process, a colon, and a number = its place, a moment in milliseconds,
-- times span, plus what it wants, from 1 to span - 1; negative: it was told. One that was told keeps its place until its process has
-- asked. It bars none of those behind it, for its process may be gone, or the message lost. Its commands may be refused: it is an extra.

local span = 1024

-- call tells the process of a candidate to ask; without the score of the candidate it only looks for the process. It answers 'there', or
-- 'gone', and then the candidate leaves the queue, or 'unknown'; and whether more listen to the wake channel than processes that know
-- the queue. That is taken for true where it cannot be known.
local function call(publish, channel, row, candidate, score)
  local own = row .. ':' .. string.match(candidate, '^[^:]*')
  local count = redis.pcall('pubsub', publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', own, channel, row .. ':known')
  if count.err then
    return 'unknown', true
  end
  local outcome, others = 'there', tonumber(count[4]) > tonumber(count[6])
  if tonumber(count[2]) == 0 then
    outcome = 'gone'
    redis.pcall('zrem', row, candidate)
  elseif score and type(redis.pcall(publish, own, candidate)) ~= 'number' then
    outcome, others = 'unknown', true
  elseif score then
    redis.pcall('zadd', row, whole(-score), candidate)
  end
  return outcome, others
end

-- tell tells the first process whose candidate wants no more than that. Up to eight that want more are passed over. With behind, which
-- is a candidate, so are it and those in front of it. It answers whether a process was told, and then whether more than those that are
-- known listen to the wake channel.
local function tell(publish, channel, row, permits, behind)
  local told, first = false, redis.pcall('zrange', row, '0', 'inf', 'byscore', 'limit', '0', '8', 'withscores')
  for i = 1, #first, 2 do
    local candidate, score = first[i], tonumber(first[i + 1])
    if behind then
      behind = candidate ~= behind and behind or nil
    elseif score % span <= permits then
      local outcome, others = call(publish, channel, row, candidate, score)
      if outcome ~= 'gone' then
        return outcome == 'there', others
      end
    end
  end
  return told, true
end

-- quit takes a candidate out of the queue. It answers whether the candidate stood there and had not been told.
local function quit(row, candidate)
  local score = redis.pcall('zscore', row, candidate)
  redis.pcall('zrem', row, candidate)
  return type(score) == 'string' and tonumber(score) > 0
end
