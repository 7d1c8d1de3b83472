-- announce has those learn of permits who wait for them. It is a prelude of the scripts of semaphores.
--
-- row  sorted set: candidate, which stands for a process that waits -> its place, a moment in milliseconds, times span,
--      plus how many permits its first request wants, span - 1 at most
-- KEYS[#KEYS]  row, where it can be used; else an argument alone says how it would be called, or that there is none
--
-- Where the row cannot be used all are told. So it is where the server refuses a command for it.
--
-- Answers of the functions stand beside them.

local span = 1024

-- tell takes the first candidate out of the row whose request the permits are enough for, and tells its process to look.
-- Up to eight whose requests are larger keep their places, and whose process is gone leaves. With behind, which is a candidate,
-- it and those in front of it are passed over like those. It answers whether a process was told, and then whether more than
-- those that are known listen to the wake channel.
local function tell(publish, channel, row, permits, behind)
  local listeners, larger, told, others = publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', 0, false, true
  while larger < 8 and not told do
    local first = redis.pcall('zrange', row, larger, larger, 'withscores')
    if first.err or #first == 0 then
      break
    end
    local score = tonumber(first[2])
    if behind or score % span > permits then
      larger = larger + 1
      if first[1] == behind then
        behind = nil
      end
    else
      local own = row .. ':' .. string.match(first[1], '^[^:]*')
      local count = redis.pcall('pubsub', listeners, own, channel, row .. ':known')
      if count.err or redis.pcall('zrem', row, first[1]) ~= 1 then
        break
      end
      if tonumber(count[2]) > 0 then
        local heard = redis.pcall(publish, own, string.format('%.0f', math.floor(score / span)))
        if type(heard) ~= 'number' then
          break
        end
        told, others = true, tonumber(count[4]) > tonumber(count[6])
      end
    end
  end
  return told, others
end

-- announce tells one process of this library. Where none was told the message on the wake channel is for all; else
-- it is for the others who listen there, if there are any, and begins with a zero.
local function announce(publish, channel, row, number, permits)
  local told, others = false, true
  if row == KEYS[#KEYS] then
    told, others = tell(publish, channel, row, permits)
  end
  if not told then
    redis.pcall(publish, channel, number)
  elseif others then
    redis.pcall(publish, channel, '0' .. number)
  end
end
