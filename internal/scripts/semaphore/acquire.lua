-- acquire serves callers in order, until one comes for whom not enough permits are left. It follows the preludes lane
-- and value.
--
-- KEYS[1]      semaphore: permits available
-- KEYS[2]      lanes of the session
-- ARGV[1]      lane
-- ARGV[2]      sequence number
-- ARGV[i]      from 3 on, of each run of callers who want the same: permits that each of them wants, 1 or more
-- ARGV[i + 1]  their number
--
-- Answers how many callers were served. Each is served wholly or not at all, and none before those in front of it. If it
-- is none, the answer is -1 when there is no semaphore, else -2 less the permits that are available.

local available, served, taken = tonumber(value or '0'), 0, 0
for i = 3, #ARGV, 2 do
  local each, run = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  local fits = math.max(0, math.min(run, math.floor((available - taken) / each)))
  served, taken = served + fits, taken + fits * each
  if fits < run then
    break
  end
end
if served == 0 then
  return value and -2 - math.min(math.max(available, 0), 4503599627370496) or -1
end
redis.call('decrby', KEYS[1], string.format('%.0f', taken))
return settle(string.format('%.0f', served))
