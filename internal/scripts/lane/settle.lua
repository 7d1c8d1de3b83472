-- settle has the functions of those scripts that take effect once. It is a prelude, and follows once.
--
-- KEYS[1]  counter; only decimal looks at it
-- KEYS[2]  lanes of the session
-- ARGV[1]  lane
-- ARGV[2]  sequence number of this operation
--
-- Answers of the functions stand beside them.

-- insist makes a write that has to pass on a server that is out of memory too, for giving back must always work. Such a
-- server refuses only what could be the first write of a script, and PEXPIRE is never refused. An error of another kind
-- comes again.
local function insist(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    redis.call('pexpire', KEYS[2], lifetime)
    return redis.call(...)
  end
  return reply
end

-- settle stores the reply. It comes right after the change, before any message, for a message can fail. A lane that is
-- new in the hash, or was last used in another half minute, begins the lifetime anew; so it lasts until two minutes after
-- the operation's number was drawn at least. It returns what the script is to answer.
local function settle(reply)
  local new = insist('hset', KEYS[2], ARGV[1], ARGV[2] .. ':' .. reply)
  if new == 1 or math.floor(sequence / round) ~= math.floor(settled / round) then
    redis.call('pexpire', KEYS[2], lifetime)
  end
  return #reply < 16 and tonumber(reply) or reply
end

-- decimal is a reply of INCRBY or DECRBY as text. Those that a number of Lua may not have exactly are read again.
local function decimal(number)
  if math.abs(number) < 9007199254740992 then
    return string.format('%.0f', number)
  end
  return redis.call('get', KEYS[1])
end
