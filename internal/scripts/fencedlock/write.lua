-- write executes one command of the caller's if its token is not below one that the guard has seen, nor another owner's. It
-- follows the preludes lane, below and admit.
--
-- KEYS[1]  the greatest token that the guard has seen
-- KEYS[2]  lanes of the session
-- KEYS[3]  the first owner of the greatest token
-- KEYS[4]  key that the command works on
-- ARGV[1]  lane
-- ARGV[2]  sequence number
-- ARGV[3]  token
-- ARGV[4]  owner, empty if that is not said
-- ARGV[5]  command
-- ARGV[6…] its arguments after the key
--
-- Answers 0 when the command was executed, the greatest token when the one given is below it or another owner's, or the
-- command's error. Of a command that was not executed nothing is remembered.

local above = refused(ARGV[3], ARGV[4], KEYS[3])
if above then
  return above
end
local reply = redis.pcall(ARGV[5], KEYS[4], unpack(ARGV, 6))
if type(reply) == 'table' and reply.err then
  return reply
end
remember(ARGV[3], ARGV[4], KEYS[3])
return settle('0')
