-- remove takes a client out of the registry.
-- KEYS[1-2]  index: sorted set, member = uuid; entry: hash
-- KEYS[3]    asked: hash; a key of another type is not this client's, and stays
-- ARGV[1]    uuid of the client
--
-- Answers 1 when there was an entry, 0 when not.

redis.call('zrem', KEYS[1], ARGV[1])
if redis.call('type', KEYS[3]).ok == 'hash' then
  redis.call('del', KEYS[3])
end
return redis.call('del', KEYS[2])
