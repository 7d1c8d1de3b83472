-- release gives back permits by their ids, all or none, whichever process has them.
-- KEYS[1-3]  semaphore: permits available; lanes of the session; permits taken; ARGV[1-2]  see once
-- ARGV[3-5]  PUBLISH or SPUBLISH, wake channel, row
-- ARGV[i]    from 6 on: ids, each once
--
-- Answers 1 when all were there, 0 when one was not or had expired. What had expired is put back in either case.

local expired = reclaim()
local all, removed = complete(6), 0
if all == 1 then
  change(true, '1')
  removed = giveBack(6)
  if type(removed) == 'table' then
    refuse(removed)
  end
end
returned(ARGV[3], ARGV[4], ARGV[5], expired, removed)
return all == 1 and 1 or replica() or 0
