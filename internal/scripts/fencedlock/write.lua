-- write executes one command of the caller's if its token is not below one that the guard has seen. It follows the
-- preludes lane and admit.
--
-- KEYS[1]  the greatest token that the guard has seen
-- KEYS[2]  lanes of the session
-- KEYS[3]  key that the command works on
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  token
-- ARGV[4]  command
-- ARGV[5…] its arguments after the key
--
-- Answers 0 when the command was executed, the greatest token when the one given is below it, or the command's error.
-- Of a command that was not executed nothing is remembered.

local above = refused(ARGV[3])
if above then
  return above
end
local reply = redis.pcall(ARGV[4], KEYS[3], unpack(ARGV, 5))
if type(reply) == 'table' and reply.err then
  return reply
end
remember(ARGV[3])
return settle('0')
