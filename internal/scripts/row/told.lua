-- told has the processes that wait for the same thing stand in a process queue, and tells them in their order that it is their turn to
-- ask. It is a prelude behind clock.
--
-- The queue is a sorted set of candidate, which is the session of a process, a colon, and a number = its place, a moment in milliseconds,
-- times span, plus what it wants, from 1 to span - 1; negative: it was told. One that was told keeps its place until its process has
-- asked. It bars none of those behind it, for its process may be gone, or the message lost. The queue is an extra: its commands may be
-- refused.

local span, abandoned = 1024, 600000

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

-- stand has a candidate stand in the queue, in the place that it has or behind the others. Its process is known to be there for
-- patience milliseconds.
local function stand(row, candidate, wants, patience)
  local score, known, now = redis.pcall('zscore', row, candidate), pcall(clock)
  now = known and now or 0
  local place = type(score) == 'string' and math.floor(math.abs(tonumber(score)) / span) or now
  redis.pcall('zadd', row, whole(place * span + math.min(wants, span - 1)), candidate)
  local lasts = redis.pcall('pttl', row)
  if type(lasts) == 'number' and lasts * 4 < patience * 3 then
    redis.pcall('pexpire', row, patience)
    -- One that was told asks at once. Where it came long ago and has not asked yet, its process is gone, or it goes to the end.
    redis.pcall('zremrangebyscore', row, whole((abandoned - now) * span), '(0')
  end
end

-- quit takes a candidate out of the queue. It answers whether the candidate stood there and had not been told.
local function quit(row, candidate)
  local score = redis.pcall('zscore', row, candidate)
  redis.pcall('zrem', row, candidate)
  return type(score) == 'string' and tonumber(score) > 0
end
