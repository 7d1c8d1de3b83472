-- acquire serves a caller with a permit for each of its ids, if enough are available. It follows the preludes
-- lane, announce and permits; size, or a line that says there is none; and wait, or a line that says
-- that the caller does not wait.
-- KEYS[1-3]        semaphore: permits available; lanes of the session; permits taken
-- ARGV[1-2]        lane, sequence number
-- ARGV[3-5]        PUBLISH or SPUBLISH, wake channel, row
-- ARGV[first]      lease in milliseconds, -1 for none
-- ARGV[first + 1]  number of the ids
-- ARGV[i]          the ids, to the end
--
-- Answers -3 when the caller was served; else the milliseconds until the next deadline, -1 when no permit has
-- one, -4 when there is no semaphore, and -5 less the permits in all when the caller wants more than that. To
-- a caller that was served of a semaphore that has not as many permits in all as it is to have, -1048576 less
-- those in all. Publishes what is left if permits had expired or it was set up.
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

local answer = -1
if served then
  answer = all ~= size and -1048576 - math.max(all, 0) or -3
else
  local unable = replica()
  if unable then
    return unable
  end
  local next = tonumber(redis.call('zrange', KEYS[3], 0, 0, 'withscores')[2] or permanent)
  local total = (available or 0) + redis.call('zcard', KEYS[3])
  if not available then
    answer = -4
  elseif wanted > total then
    answer = -5 - math.max(total, 0)
  elseif next ~= permanent then
    answer = next - now
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
