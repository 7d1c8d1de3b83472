-- update_lease moves the deadlines of permits, forward or back.
-- KEYS[1-3]  semaphore: permits available; lanes of the session; permits taken; ARGV[1-2]  see once
-- ARGV[3-6]  lease in milliseconds from now, -1 for none; PUBLISH or SPUBLISH, wake channel, row
-- ARGV[i]    from 7 on: ids
--
-- Answers 1 when all were there, 0 when one was not or had expired, and then none is moved.

local expired = reclaim()
local all = complete(7)
if all == 1 then
  change(true, '1')
  for i = 7, #ARGV do -- the first of all is refused, or none
    write(false, 'zadd', KEYS[3], deadline(tonumber(ARGV[3])), ARGV[i])
  end
end
returned(ARGV[4], ARGV[5], ARGV[6], expired, 0)
return all == 1 and 1 or replica() or 0
