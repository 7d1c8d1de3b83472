-- acquire serves a caller with a permit for each of its ids, if enough are available.
-- KEYS[1-3]        semaphore: permits available; lanes of the session; permits taken; ARGV[1-2]  see once
-- ARGV[3-5]        PUBLISH or SPUBLISH, wake channel, row
-- ARGV[first]      lease in milliseconds, -1 for none
-- ARGV[first + 1]  number of the ids
-- ARGV[i]          the ids, to the end
--
-- Answers an outcome and eight times a value, as lane.ReadGranted says: 1 when the caller was served, with 1024 times the permits in all if
-- these are not as many as there are to be; 2 when there is no semaphore; 4 when the caller wants more than the permits in all, with their
-- number; 5 with the milliseconds until the next deadline, or 0 when no permit has one. Publishes what is left if permits had expired or it
-- was set up.
--
-- The ids are the memory of what was done, so nothing is stored in the lane. A copy that comes after their release is
-- refused as stale if the lane was fenced.

local expired = reclaim()
local all = size and available + redis.call('zcard', KEYS[3])
local wanted = tonumber(ARGV[first + 1])

local before = false -- an earlier execution has taken them
for i = first + 2, #ARGV do
  before = before or available and redis.call('zscore', KEYS[3], ARGV[i])
end
local served = before or available and available >= wanted
if served and not before then
  add(-wanted)
  for i = first + 2, #ARGV do
    local reply = redis.pcall('zadd', KEYS[3], deadline(tonumber(ARGV[first])), ARGV[i])
    if type(reply) == 'table' then -- the first of all is refused, or none
      add(wanted)
      error('nothing was changed: ' .. reply.err, 0)
    end
  end
  follow()
end

local answer = 0
if served then
  answer = 1 + (all ~= size and 8192 * math.max(all, 0) or 0)
else
  local unable = replica()
  if unable then
    return unable
  end
  local next = tonumber(redis.call('zrange', KEYS[3], 0, 0, 'withscores')[2] or permanent)
  local total = (available or 0) + redis.call('zcard', KEYS[3])
  if not available then
    answer = 2
  elseif wanted > total then
    answer = 4 + 8 * math.max(total, 0)
  elseif next ~= permanent then
    answer = 5 + 8 * (next - now)
  end
end
local news = made or expired > 0
if wait then
  wait(not served and wanted, not news and available or 0)
end
if news then
  offer(ARGV[3], ARGV[4], ARGV[5], available or 0)
end
return answer
