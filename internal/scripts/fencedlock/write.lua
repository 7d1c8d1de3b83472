-- write executes one command of the caller's if its token is not below one that the guard has seen, nor another owner's.
-- KEYS[1-2]  the greatest token that the guard has seen; lanes of the session
-- KEYS[3-4]  the first owner of the greatest token; key that the command works on
-- ARGV[1-5]  lane; sequence number; token; owner, empty if that is not said; command
-- ARGV[6…]   its arguments after the key
--
-- Answers 0 when the command was executed, the greatest token when the one given is below it or another owner's, or the
-- command's error. Of a command that was not executed nothing is remembered.

local above = refused(ARGV[3], ARGV[4], KEYS[3])
if above then
  return above
end

-- The command cannot be taken back, so it is found out first whether the rest is permitted. A server that is out of memory may refuse
-- that and not the command; then it lets pass what is behind the command.
local function hindered(reply)
  return reply and reply.err and not string.find(reply.err, 'OOM', 1, true)
end

local unsettled = store(false, '0')
if hindered(unsettled) then
  refuse(unsettled)
end
if greatest ~= ARGV[3] or ARGV[4] ~= '' and first ~= ARGV[3] .. ' ' .. ARGV[4] then
  local noted = redis.pcall('set', KEYS[1], greatest or ARGV[3])
  if hindered(noted) then
    refuse(noted)
  end
end
local reply = redis.pcall(ARGV[5], KEYS[4], unpack(ARGV, 6))
if type(reply) == 'table' and reply.err then
  if not greatest then
    redis.pcall('del', KEYS[1])
  end
  forget()
  return reply
end
remember(ARGV[3], ARGV[4], KEYS[3])
return unsettled and settle('0') or 0
