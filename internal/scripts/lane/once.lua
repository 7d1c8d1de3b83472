-- once makes the script that follows it take effect once. It is a prelude, joined in front of the script; what the script needs to
-- remember its answer is in the prelude settle.
-- KEYS[1]    counter, named for its slot and not touched
-- KEYS[2]    lanes of a session: field = lane, value = "sequence:reply" of the last operation that changed something
-- ARGV[1-2]  lane; sequence number of this operation
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
