-- make sets up a semaphore that is not there. It is a prelude, and follows lane and permits.
-- KEYS[1]  semaphore: permits available
-- KEYS[3]  permits taken
--
-- ttl is in milliseconds, 0 for none. Permits that outlived an earlier semaphore of the name count as taken from this
-- one, to which they return.

local function make(permits, ttl)
  available = permits - redis.call('zcard', KEYS[3])
  if ttl == '0' then
    write(false, 'persist', KEYS[3])
    write(false, 'set', KEYS[1], whole(available))
  else
    write(false, 'pexpire', KEYS[3], ttl)
    write(false, 'set', KEYS[1], whole(available), 'px', ttl)
  end
end
