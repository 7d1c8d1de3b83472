-- lane makes the script that follows it take effect once. It is a prelude, joined in front of the script.
--
-- KEYS[2]  lanes of a session: field = lane, value = "sequence:reply" of the last operation that changed something
-- ARGV[1]  lane
-- ARGV[2]  sequence number of this operation
--
-- Answers the stored reply to the stored sequence number, and an error REDLATCH-STALE to a lower one. For a higher one
-- the script goes on. Replies are decimal text: the numbers of Lua are exact only to 2^53.

local lifetime = '120000' -- milliseconds; a copy of a command that is older than this finds no memory of it
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

-- insist lets the writes that follow pass on a server that is out of memory, for giving back must always work. Such a
-- server refuses only what could be the first write of a script, and PEXPIRE is never refused.
local function insist()
  redis.call('pexpire', KEYS[2], lifetime)
end

-- settle stores the reply. It comes right after the change, before any message, for a message can fail.
local function settle(reply)
  redis.call('hset', KEYS[2], ARGV[1], ARGV[2] .. ':' .. reply)
  redis.call('pexpire', KEYS[2], lifetime)
  return reply
end
