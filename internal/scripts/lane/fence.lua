-- fence settles the operation before this one in its lane.
-- KEYS[1-2]  counter, named for its slot and not touched; lanes of the session
-- ARGV[1-2]  lane; sequence number, one above that of the operation to settle
--
-- Answers what that operation has answered, 0 when it had no effect and never will.

return settle(settled == sequence - 1 and answer or '0')
