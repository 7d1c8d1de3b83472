-- claim has the guard refuse everything below a token from now on. It follows the preludes below and admit.
--
-- KEYS[1]  the greatest token that the guard has seen
-- KEYS[2]  its first owner
-- ARGV[1]  token
-- ARGV[2]  owner, empty if that is not said
--
-- Answers 0, or the greatest token when the one given is below it or another owner's.

local above = refused(ARGV[1], ARGV[2], KEYS[2])
if above then
  return above
end
remember(ARGV[1], ARGV[2], KEYS[2])
return 0
