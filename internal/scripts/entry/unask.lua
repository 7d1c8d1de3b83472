-- unask takes back that somebody asks, unless somebody else has asked since.
-- KEYS[1]    asked: hash
-- ARGV[1-2]  identity; what ask has answered
--
-- Answers 1 when it was taken back, 0 when there was nothing to take back.

if redis.call('hget', KEYS[1], ARGV[1]) == ARGV[2] then
  return redis.call('hdel', KEYS[1], ARGV[1])
end
return 0
