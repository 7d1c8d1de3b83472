-- clocked has the tokens outlive their counter: the last is at least the time in microseconds. It is a prelude behind below and issue.
-- KEYS[2]  token: a string, the token issued last; no TTL
--
-- The time is the last of the tokens and not the one before the first, so that no token is ahead of the clock. Should the
-- counter be lost, the next acquisition has a later time, and a greater token than all before it.

local count = issue
local function issue(n)
  local time, token = redis.call('time'), count(n)
  local now = time[1] .. string.sub('00000' .. time[2], -6)
  if type(token) == 'string' and below(token, now) then
    token = now
    redis.call('set', KEYS[2], token)
  end
  return token
end
