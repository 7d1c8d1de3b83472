-- claim has the guard refuse everything below a token from now on. It follows the prelude admit.
--
-- KEYS[1]  the greatest token that the guard has seen
-- ARGV[1]  token
--
-- Answers 0, or the greatest token when the one given is below it.

local above = refused(ARGV[1])
if above then
  return above
end
remember(ARGV[1])
return 0
