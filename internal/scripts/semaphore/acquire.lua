-- acquire serves a caller if enough permits are left for it.
-- KEYS[1-2]        semaphore: permits available; lanes of the session; ARGV[1-2]  see once
-- ARGV[first]      permits that the caller wants, 1 or more
-- ARGV[first + 1]  how many may be taken beside, for those of its process that wait behind it and want as many each
--
-- Answers an outcome and eight times a value, as lane.ReadGranted says: 1 when the caller was served, with how many were taken beside, and
-- 1024 times the permits that are available if these are more than there are to be; 2 when there is no semaphore; 3 when not enough
-- permits are available, with their number. Publishes what is left of a semaphore that it has set up.

local available, wanted = tonumber(value or '0'), tonumber(ARGV[first])
local served = available >= wanted
local answer, left = value and 3 + 8 * math.min(math.max(available, 0), 549755813888) or 2, available
if served then
  local beside = math.floor(math.min(available - wanted, tonumber(ARGV[first + 1])) / wanted) * wanted
  left = available - wanted - beside
  answer = change(false, string.format('%.0f', 1 + 8 * beside), 'decrby', KEYS[1], string.format('%.0f', wanted + beside))
  if size and available > size then
    answer = answer + 8192 * math.min(available, 549755813888)
  end
else
  local unable = replica()
  if unable then
    return unable
  end
end
if wait then
  wait(not served and wanted, made and 0 or left)
end
if made and left > 0 then
  announce(publish, channel, line, string.format('%.0f', left), left)
end
return answer
