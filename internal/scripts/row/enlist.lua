-- enlist takes the lock for an owner if it is free, and else has it sit down in the row of those who wait.
-- KEYS[1-2]  lock hash: field = owner, value = holds; token, for issue and own
-- KEYS[at]   row, and the two behind it, for row; left out where they cannot be had
-- ARGV[1-2]  owner; lease in milliseconds
-- ARGV[3]    for how many milliseconds its process is known to be there; negative if the owner cannot be passed the lock
--
-- Answers {1, token as text, 0} when the owner holds the lock: by this execution, by an earlier one of the same command,
-- or because the lock was passed to it, for a shorter time perhaps. Else {0, milliseconds that the holder's lease still
-- lasts, 0 or more, or -1 when the key has no TTL, the time in milliseconds or 0 when the owner does not sit}; or {2,
-- milliseconds, the time} when the lock is free and for so long only for those who sit in no row. Unless it is for those too that
-- only poll, that ends early when none of them listens any more.

local remaining = redis.call('pttl', KEYS[1])
if remaining == -2 then -- no such key
  local left = row and redis.pcall('pttl', open)
  if left and not refused(left) and left > 0 then
    local window = redis.pcall('get', open)
    local whole, listeners, channel = string.match(refused(window) and '' or window or '', '^(%d+) (%a+) (.*)$')
    -- It lasts longer than the whole if the clock was set back.
    if whole and left <= tonumber(whole) and (listeners == 'whoever' or outsiders(listeners, channel)) then
      return {2, left, sit(ARGV[1], tonumber(ARGV[3]))}
    end
  end
  local token = issue() -- first of the writes, for it is the one that can be refused
  if refused(token) then
    return token
  end
  take(KEYS[1], ARGV[1], ARGV[2])
  rise(ARGV[1])
  return {1, token, 0}
end
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  if remaining < tonumber(ARGV[2]) then
    redis.call('pexpire', KEYS[1], ARGV[2])
  end
  return {1, own(), 0}
end
return {0, remaining, sit(ARGV[1], tonumber(ARGV[3]))}
