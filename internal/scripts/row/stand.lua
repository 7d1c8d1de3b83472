-- stand has a process stand in a queue as told knows it. It is a prelude behind clock.

-- stand has a candidate stand in the queue, in the place that it has or behind the others. Its process is known to be there for
-- patience milliseconds.
local function stand(row, candidate, wants, patience)
  local score, known, now = redis.pcall('zscore', row, candidate), pcall(clock)
  now = known and now or 0
  local place = type(score) == 'string' and math.floor(math.abs(tonumber(score)) / 1024) or now
  redis.pcall('zadd', row, whole(place * 1024 + math.min(wants, 1023)), candidate)
  local lasts = redis.pcall('pttl', row)
  if type(lasts) == 'number' and lasts * 4 < patience * 3 then
    redis.pcall('pexpire', row, patience)
    -- One that was told asks at once. Where it came ten minutes ago and has not asked yet, its process is gone, or it goes to the end.
    redis.pcall('zremrangebyscore', row, whole((600000 - now) * 1024), '(0')
  end
end
