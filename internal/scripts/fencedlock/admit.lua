-- admit says whether a token is refused by a guard. It is a prelude, joined in front of the script.
--
-- KEYS[1]  the greatest token that the guard has seen: a string, positive decimal integer
--
-- Answers of the function: the greatest token, as text, when that is above the one given; else nil. The decimals are
-- compared as text, the longer being the greater, because the numbers of Lua are exact only to 2^53.

local greatest = redis.call('get', KEYS[1])

local function refused(token)
  if greatest and (#greatest > #token or #greatest == #token and greatest > token) then
    return greatest
  end
end

local function remember(token)
  if greatest ~= token then
    redis.call('set', KEYS[1], token)
  end
end
