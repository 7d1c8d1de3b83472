-- release gives back permits, creating the semaphore if need be, and wakes the waiters.
-- KEYS[1-2]  semaphore: permits available; lanes of the session; ARGV[1-2]  see once
-- ARGV[3-6]  permits to give back; PUBLISH or SPUBLISH, wake channel, row
-- ARGV[7]    given where it settles the operation before it in its lane, a keep: the answer with which that kept the
--            permits
--
-- Answers 1; to one that settles, what a keep answered that gave back the permits itself; 0 without a semaphore.

if ARGV[7] and settled == sequence - 1 and answer ~= ARGV[7] then
  return settle(answer)
end
return raise('1', ARGV[3])
