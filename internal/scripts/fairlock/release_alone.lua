-- release_alone is how a release begins: where no owner waits it ends here, before the rest has cost anything.
-- KEYS[1-4], ARGV[1], ARGV[7]  as release has them
--
-- Answers what release does.

if not ARGV[7] and redis.call('exists', KEYS[2], KEYS[3], KEYS[4]) == 0 then
  return redis.call('hdel', KEYS[1], ARGV[1])
end
