-- renew_read lengthens the promises of the readers that still read, and holds the locks to them.
--
-- KEYS[i]        for each reader the lock hash, the list of our readers, the record of strangers, then its markers 1, 2, ...
-- ARGV[3*r - 2]  number of markers of reader r among the keys
-- ARGV[3*r - 1]  its owner
-- ARGV[3*r]      milliseconds that its promise is lengthened to; 0 leaves the promise alone
--
-- Answers an array with one number for each reader: 1 when it still reads, 0 when not.
--
-- The renewal of a Java reader sets the TTL of the hash, also to less than another reader was promised. That is why a
-- promise that is not lengthened is asserted all the same. How many markers there are to be is what the hash says, for
-- the number of holds may change while this is on its way. A marker that is gone while the hold is not is made anew.

local alive, key = {}, 1
for r = 1, #ARGV, 3 do
  lock, readers, record = KEYS[key], KEYS[key + 1], KEYS[key + 2]
  key = key + 3
  local markers, owner, longest = tonumber(ARGV[r]), ARGV[r + 1], tonumber(ARGV[r + 2])
  local holds = redis.pcall('hget', lock, owner)
  if type(holds) == 'table' then
    -- An error. A key that is no hash any more is a lost lock and must not spoil the others. Anything else, such as a
    -- missing permission, says nothing about the lock, and nobody may be told that it is lost.
    if redis.call('type', lock).ok == 'hash' then
      return holds
    end
    holds = false
  end
  if holds then
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
    alive[#alive + 1] = 1
  else
    for i = key, key + markers - 1 do
      redis.call('del', KEYS[i])
    end
    redis.call('zrem', readers, owner)
    alive[#alive + 1] = 0
  end
  key = key + markers
end
return alive
