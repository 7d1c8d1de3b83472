-- delete removes the latch, which opens it.
-- KEYS[1-3]  latch: what is still to be counted; lanes of the session; record of the latch
-- ARGV[1-4]  lane; sequence number; PUBLISH or SPUBLISH; wake channel
--
-- Answers 1, or 0 when there is no latch.

if not value then
  return replica() or '0'
end
return finish('deleted', '1')
