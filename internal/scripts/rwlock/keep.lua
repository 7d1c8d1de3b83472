-- keep lengthens the promise of a reader that still reads. It is a prelude, joined behind strangers and ours.
-- KEYS[i]  the reader's markers, at the place that the function is told
--
-- The renewal of a Java reader sets the TTL of the hash, also to less than another reader was promised. That is why a
-- promise that is not lengthened is asserted all the same. How many markers there are to be is what the hash says, for
-- the number of holds may change while this is on its way. A marker that is gone while the hold is not is made anew.

-- keep takes the owner, the index of its first marker among the keys, the number of its markers there, and the milliseconds that
-- its promise is lengthened to; 0 leaves the promise alone. It answers 1, 0 when the owner does not read any more, or an error.
local function keep(owner, key, markers, longest)
  local holds = redis.pcall('hget', lock, owner)
  if type(holds) == 'table' then
    -- An error. A key that is no hash any more is a lost lock and must not spoil the others. Anything else, such as a
    -- missing permission, says nothing about the lock, and no holder may be told that it is lost.
    if redis.call('type', lock).ok == 'hash' then
      return holds
    end
    holds = false
  end
  if not holds then
    for i = key, key + markers - 1 do
      redis.call('del', KEYS[i])
    end
    redis.call('zrem', readers, owner)
    return 0
  end
  local last = key + math.min(markers, tonumber(holds)) - 1
  for i = key, last do
    longest = math.max(longest, redis.call('pttl', KEYS[i]))
  end
  if longest > 0 then
    lengthen(longest)
    for i = key, last do
      if redis.call('pttl', KEYS[i]) < longest and redis.call('pexpire', KEYS[i], whole(longest)) == 0 then
        redis.call('set', KEYS[i], '1', 'px', whole(longest))
      end
    end
    enter(owner, longest)
  end
  return 1
end
