-- lane makes the script that follows it take effect once. It is a prelude, joined in front of the script.
--
-- KEYS[1]  counter; only decimal looks at it
-- KEYS[2]  lanes of a session: field = lane, value = "sequence:reply" of the last operation that changed something
-- ARGV[1]  lane
-- ARGV[2]  sequence number of this operation
--
-- Answers the stored reply to the stored sequence number, and an error REDLATCH-STALE to a lower one. For a higher one
-- the script goes on. Replies are decimal text, or integers where the numbers of Lua are exact, which clients read at less
-- cost.

local lifetime = '150000' -- milliseconds; a copy of a command that is older than this finds no memory of it
local round = 268435456 -- sequence numbers in half a minute, lane.Round
local sequence = tonumber(ARGV[2])
local settled, answer -- of the lane's last operation, nil when nothing is known

local stored = redis.call('hget', KEYS[2], ARGV[1])
if stored then
  settled, answer = string.match(stored, '^(%d+):(-?%d+)$')
  settled = tonumber(settled)
  if sequence == settled then
    return answer
  end
  if sequence < settled then
    return redis.error_reply('REDLATCH-STALE operation ' .. ARGV[2] .. ' was given up, its lane is at ' .. settled)
  end
end

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
