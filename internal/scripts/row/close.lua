-- close is pass at the end of a streak: the process of the giver stands behind the others then, and if there are none its next waiter holds.
-- KEYS[1-2]    lock hash: field = owner, value = holds; token, for issue
-- KEYS[at]     row, and those behind it, as pass has them
-- ARGV[1-6]    as pass has them
-- ARGV[7]      owner that sits down behind the others, whatever becomes of the lock; empty for none
-- ARGV[8]      for how many milliseconds its process is known to be there; negative if it cannot be passed the lock
-- ARGV[9-11]   fresh owner of the giver's process that is to hold if no other process waits, empty for none; its lease in milliseconds; how many tokens
--              it is issued
--
-- Answers an array: the outcome, as pass, and 6 when the owner of ARGV[9] holds, by this execution or by an earlier one of the same command;
-- the time in milliseconds at which the lock was passed on, else 0; the last token of the owner that holds, and their number.

if had == 0 then
  if redis.call('hexists', KEYS[1], ARGV[9]) == 0 then
    return {lost(), 0, '0', 0}
  end
  local last = own()
  return {KEPT, 0, last == given and issue(ARGV[11]) or last, ARGV[11]} -- else its tokens were lost with their counter
end
if ARGV[7] ~= '' and ARGV[4] ~= '0' and not yields then
  rise(ARGV[7]) -- it may have sat down while its own process had the lock
end
local outcome, at, alone = give()
local token = alone and ARGV[9] ~= '' and hold(ARGV[9], ARGV[10], ARGV[11])
if token then
  return {KEPT, 0, token, ARGV[11]}
end
if ARGV[7] ~= '' then
  sit(ARGV[7], tonumber(ARGV[8]))
end
return {set_free(outcome), at, '0', 0}
