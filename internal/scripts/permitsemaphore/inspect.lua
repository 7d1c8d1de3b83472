-- inspect reads the semaphore and changes nothing.
-- KEYS[1-2]  semaphore: permits available; permits taken
-- ARGV[1]    how many of the permits taken to show at most, 1 or more
--
-- Answers an array: permits available; permits taken; the reply of PTTL; and of those permits that end first, in turn the
-- id and the milliseconds that are left, -1 for a permit without a deadline. Permits that have expired count as
-- available.

local expired = redis.call('zcount', taken, '0', whole(now))
local answer = { 0, 0, redis.call('pttl', KEYS[1]) }
if available then
  answer[1], answer[2] = available + expired, redis.call('zcard', taken) - expired
  local shown = redis.call('zrange', taken, expired, expired + tonumber(ARGV[1]) - 1, 'withscores')
  for i = 1, #shown, 2 do
    local score = tonumber(shown[i + 1])
    answer[#answer + 1], answer[#answer + 2] = shown[i], score == permanent and -1 or score - now
  end
end
return answer
