-- admit says whether a write is refused by a guard. It is a prelude behind below.
-- KEYS[1]  the greatest token that the guard has seen: a string, positive decimal integer
-- bound    key of the first owner that has shown that token: a string, the token, a space and the owner
--
-- A token that is issued twice, because its counter was lost, is that of the owner who shows it first. An owner that
-- says nothing of itself is not told apart from others.

local greatest, first = redis.call('get', KEYS[1]), nil

-- refused answers the greatest token, as text, if the one given is below it or is another owner's; else nil.
local function refused(token, owner, bound)
  if greatest and below(token, greatest) then
    return greatest
  end
  if greatest == token and owner ~= '' then
    first = redis.call('get', bound)
    if first and string.match(first, '^%d+') == token and first ~= token .. ' ' .. owner then
      return greatest
    end
  end
end

-- remember notes the token and its owner, which were not refused.
local function remember(token, owner, bound)
  if greatest ~= token then
    redis.call('set', KEYS[1], token)
  end
  if owner ~= '' and first ~= token .. ' ' .. owner then
    redis.call('set', bound, token .. ' ' .. owner)
  end
end
