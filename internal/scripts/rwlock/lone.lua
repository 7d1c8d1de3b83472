-- lone takes what is free, wanted by no other, and left nothing behind. It is joined in front of both acquisitions,
-- behind a line that defines side and ahead of the preludes: an execution makes each of their functions anew, which is
-- a tenth of what a lone reader costs.
-- KEYS[1-4]  lock hash; list of our readers; record of strangers; announcements of waiting writers
-- KEYS[5]    of a reader: its first marker
-- ARGV[1-2]  field of the owner; lease in milliseconds
-- ARGV[3]    of a reader: field of the write hold within which this is asked; empty: none
--
-- Answers -3, or nothing when there is more to do.

if (side == 'write' or ARGV[3] == '') and redis.call('exists', KEYS[1], KEYS[2], KEYS[3], KEYS[4]) == 0 then
  take(KEYS[1], ARGV[1], ARGV[2], 'mode', side)
  if side == 'read' then
    redis.call('set', KEYS[5], '1', 'px', ARGV[2])
    redis.call('zadd', KEYS[2], '0', ARGV[1])
    redis.call('pexpire', KEYS[2], ARGV[2])
  end
  return -3
end
