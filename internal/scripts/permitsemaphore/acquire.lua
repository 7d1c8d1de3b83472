-- acquire serves callers in order, each with a permit for each of its ids, until one comes for whom not
-- enough are available. It follows the preludes lane, announce and permits; size, or a line that says there
-- is none; and either alone or wait.
--
-- KEYS[1]      semaphore: permits available
-- KEYS[2]      lanes of the session
-- KEYS[3]      permits taken
-- ARGV[1]      lane
-- ARGV[2]      sequence number
-- ARGV[3]      PUBLISH or SPUBLISH
-- ARGV[4]      wake channel
-- ARGV[5]      row
-- ARGV[i]      from first on, of each caller: lease in milliseconds, -1 for none
-- ARGV[i + 1]  number of its ids
-- ARGV[j]      its ids
--
-- Answers to one caller -3 when it was served; else the milliseconds until the next deadline, -1 when no
-- permit has one, -4 when there is no semaphore, and -5 less the permits in all when it wants more than that.
-- To several, an array: how many were served, and that of whom is next, -1 also when all were. To one caller
-- that was served of a semaphore that has not as many permits in all as it is to have, -1048576 less those in
-- all. Publishes what is left if permits had expired or it was set up.
--
-- The ids are the memory of what was done, so nothing is stored in the lane. A copy that comes after their release is
-- refused as stale if the lane was fenced.

local expired = reclaim()
local served, took, refused, several, wanted = 0, false, false, false, 0
local all = size and available + redis.call('zcard', KEYS[3])

local i = first
while i <= #ARGV and not refused do
  local count = tonumber(ARGV[i + 1])
  local last = i + 1 + count
  several = several or last < #ARGV
  local before = false -- an earlier execution has taken them
  for j = i + 2, last do
    before = before or redis.call('zscore', KEYS[3], ARGV[j])
  end
  if not (before and available) then
    if available and available >= count then
      add(-count)
      for j = i + 2, last do
        local reply = redis.pcall('zadd', KEYS[3], deadline(tonumber(ARGV[i])), ARGV[j])
        if type(reply) == 'table' then -- the first of all is refused, or none
          add(count)
          error('nothing was changed: ' .. reply.err, 0)
        end
      end
      took = true
    else
      refused, wanted = true, count
    end
  end
  if not refused then
    served = served + 1
  end
  i = last + 1
end
if took then
  follow()
end

local again = -1
if refused then
  local unable = served == 0 and replica()
  if unable then
    return unable
  end
  local first = redis.call('zrange', KEYS[3], 0, 0, 'withscores')
  local next = tonumber(first[2] or permanent)
  again = next == permanent and -1 or next - now
  local total = (available or 0) + redis.call('zcard', KEYS[3])
  if not available then
    again = -4
  elseif wanted > total then
    again = -5 - math.max(total, 0)
  end
end
local news = made or expired > 0
if stand then
  stand(refused and wanted, served, not news and available or 0)
end
if news then
  offer(ARGV[3], ARGV[4], ARGV[5], available or 0)
end
if several then
  return {served, again}
end
if served == 1 then
  return all ~= size and -1048576 - math.max(all, 0) or -3
end
return again
