-- pass ends all holds of an owner and has the first in the row hold; when no process stands there the lock is free, and the waiters are
-- woken.
-- KEYS[1-2]  lock hash: field = owner, value = holds; token, for issue
-- KEYS[at]   row, and those behind it, for row: two of them, with ARGV[6] all four
-- ARGV[1-3]  owner who gives; PUBLISH or SPUBLISH, empty for no message; wake channel
-- ARGV[4]    lease of who is passed the lock, in milliseconds; 0 to pass it to none
-- ARGV[5]    optional: for how many milliseconds it has gone round, without its being free for longer than a moment
-- ARGV[6]    optional: for how many milliseconds the lock is free for outsiders only, if there are any; 0 to pass it whether outsiders wait
--            or not; negative to leave it for so long to those too that only poll
--
-- An owner in the row that cannot be passed the lock is only told: it leaves the row, the lock is free, and its process asks.
-- The message to all is sent then too if there are outsiders, which are in no row. Processes that know rows listen to
-- one channel more, by which the others are counted.
--
-- Answers the outcome: 0 when the owner held nothing, which has it leave the row; 1 when the lock is free; 2 when it is free for outsiders
-- only for the time of ARGV[6], and 3 for eight times as long; 4 when it is free and one process was told; 5 when it was passed on.

return had == 0 and lost() or set_free((give()))
