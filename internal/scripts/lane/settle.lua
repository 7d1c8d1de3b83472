-- settle has the functions of those scripts that take effect once. It is a prelude, and follows once.
-- KEYS[1]    counter; only decimal looks at it
-- KEYS[2]    lanes of the session
-- ARGV[1-2]  lane; sequence number of this operation
--
-- A user may lack the right to any command, and a script that is refused in its middle must have changed nothing. So what can be
-- refused comes before the change, or the change is taken back by the command that made it, which is permitted then. Such a
-- script ends with an error that begins with "nothing was changed".

-- try makes a write, and answers its reply, which may be an error. One that must pass does so on a server that is out of memory
-- too, for giving back must always work. Such a server refuses only what could be the first write of a script, and PEXPIRE is never
-- refused. An error of another kind comes again.
local function try(must, ...)
  local reply = redis.pcall(...)
  if must and type(reply) == 'table' and reply.err then
    redis.pcall('pexpire', KEYS[2], lifetime)
    return redis.pcall(...)
  end
  return reply
end

-- forget has the lane say what it said before. Sequence numbers begin at 1, so 0 says nothing.
local function forget()
  if stored then
    redis.pcall('hset', KEYS[2], ARGV[1], stored)
  elseif type(redis.pcall('hdel', KEYS[2], ARGV[1])) == 'table' then
    redis.pcall('hset', KEYS[2], ARGV[1], '0:0')
  end
end

-- refuse ends the script because of an error before the change.
local function refuse(reply)
  forget()
  error('nothing was changed: ' .. reply.err, 0)
end

-- write is try for a write before which nothing was changed. It answers the reply, or ends the script.
local function write(must, ...)
  local reply = try(must, ...)
  if type(reply) == 'table' and reply.err then
    refuse(reply)
  end
  return reply
end

-- store stores what the script is to answer, and answers the error if that is refused. A lane that is new in the hash, or was last
-- used in another half minute, begins the lifetime anew; so it lasts until two minutes after the operation's number was drawn at
-- least.
local function store(must, reply)
  local new = try(must, 'hset', KEYS[2], ARGV[1], ARGV[2] .. ':' .. reply)
  if new == 1 or new == 0 and math.floor(sequence / round) ~= math.floor((settled or sequence) / round) then
    new = redis.pcall('pexpire', KEYS[2], lifetime)
  end
  return type(new) == 'table' and new or nil
end

-- settle stores the reply to a change that was made, and returns what the script is to answer. If that is refused the command
-- that follows takes the change back. It comes before any message, for a message can fail.
local function settle(reply, ...)
  local refused = store(true, reply)
  if refused then
    if ... then
      redis.call(...)
    end
    refuse(refused)
  end
  return #reply < 16 and tonumber(reply) or reply
end

-- change stores a reply that is known beforehand, and then makes the change, which is the command that follows. It returns what
-- the script is to answer, and the reply to the command.
local function change(must, reply, ...)
  local refused = store(must, reply)
  if refused then
    refuse(refused)
  end
  return #reply < 16 and tonumber(reply) or reply, ... and write(false, ...)
end

-- replica is the error of a replica, nil on another server. A script that finds nothing to change asks for it: the master may have
-- what the replica lacks. The write by which it asks changes nothing, and only a replica refuses it as READONLY.
local function replica()
  local reply = redis.pcall('hdel', KEYS[2], '')
  return type(reply) == 'table' and string.find(reply.err, 'READONLY', 1, true) and reply or nil
end

-- decimal is a reply of INCRBY or DECRBY as text. Those that a number of Lua may not have exactly are read again.
local function decimal(number)
  if math.abs(number) < 9007199254740992 then
    return string.format('%.0f', number)
  end
  return redis.call('get', KEYS[1])
end
