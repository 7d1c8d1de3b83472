-- claim has the guard refuse everything below a token from now on.
-- KEYS[1-2]  the greatest token that the guard has seen; its first owner
-- ARGV[1-2]  token; owner, empty if that is not said
--
-- Answers 0, or the greatest token when the one given is below it or another owner's.

local above = refused(ARGV[1], ARGV[2], KEYS[2])
if above then
  return above
end
remember(ARGV[1], ARGV[2], KEYS[2])
return 0
