-- release_alone is how a release begins: where no owner waits it ends here, before the rest has cost anything.
-- KEYS[1-4]  lock hash: field = owner, value = holds; queue; timeouts; alive
-- ARGV[1]    owner
-- ARGV[7]    optional: that there is more to do
--
-- Answers what release does.

if not ARGV[7] and redis.call('exists', KEYS[2], KEYS[3], KEYS[4]) == 0 then
  return redis.call('hdel', KEYS[1], ARGV[1])
end
