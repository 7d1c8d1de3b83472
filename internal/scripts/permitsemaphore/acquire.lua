-- acquire takes a permit for each id if enough are available. It follows the preludes lane and permits.
--
-- KEYS[1]  semaphore: permits available
-- KEYS[2]  lanes of the session
-- KEYS[3]  permits taken
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  lease in milliseconds; -1 for none
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  wake channel
-- ARGV[i]  from 6 on: ids
--
-- Answers -3 when they were taken; else the milliseconds until the next deadline, -1 when no permit has one. Publishes
-- what is left if permits had expired.
--
-- The ids are the memory of what was done, so nothing is stored in the lane. A copy that comes after their release is
-- refused as stale if the lane was fenced.

local expired = reclaim()
local wanted = #ARGV - 5
local answer = '-3'

local before = false -- an earlier execution has taken them
for i = 6, #ARGV do
  before = before or redis.call('zscore', KEYS[3], ARGV[i])
end

if not (before and available) then
  if available and available >= wanted then
    add(-wanted)
    for i = 6, #ARGV do
      redis.call('zadd', KEYS[3], deadline(tonumber(ARGV[3])), ARGV[i])
    end
    follow()
  else
    local first = redis.call('zrange', KEYS[3], 0, 0, 'withscores')
    local next = tonumber(first[2] or permanent)
    answer = next == permanent and '-1' or whole(next - now)
  end
end
if expired > 0 then
  announce(ARGV[4], ARGV[5], available or 0)
end
return tonumber(answer)
