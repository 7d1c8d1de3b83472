-- acquire serves callers in order, until one comes for whom not enough permits are left. It follows the
-- preludes lane and value; announce, where there is size or wait; size, or a line that says there is none;
-- and either alone or wait.
--
-- KEYS[1]      semaphore: permits available
-- KEYS[2]      lanes of the session
-- ARGV[1]      lane
-- ARGV[2]      sequence number
-- ARGV[i]      from first on, of each run of callers who want the same: permits that each of them wants, 1 or more
-- ARGV[i + 1]  their number
--
-- Answers how many callers were served. Each is served wholly or not at all, and none before those in front
-- of it. If it is none, the answer is -1 when there is no semaphore, else -2 less the permits that are
-- available. If more are available than there are to be, 4096 times their number is added to how many were
-- served. Publishes what is left of a semaphore that it has set up.

local available, served, taken, wanted = tonumber(value or '0'), 0, 0
for i = first, #ARGV, 2 do
  local each, run = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  local fits = math.max(0, math.min(run, math.floor((available - taken) / each)))
  served, taken = served + fits, taken + fits * each
  if fits < run then
    wanted = each
    break
  end
end
local answer = value and -2 - math.min(math.max(available, 0), 4503599627370496) or -1
if served == 0 then
  local refused = replica()
  if refused then
    return refused
  end
else
  answer = change(false, string.format('%.0f', served), 'decrby', KEYS[1], string.format('%.0f', taken))
end
if size and available > size and served > 0 then
  answer = served + 4096 * math.min(available, 1099511627776)
end
local left = available - taken
if stand then
  stand(wanted, served, made and 0 or left)
end
if made and left > 0 then
  announce(publish, channel, line, string.format('%.0f', left), left)
end
return answer
