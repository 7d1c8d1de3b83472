-- read answers what a client has said of itself and of one thing.
-- KEYS[1]  entry: hash
-- ARGV[1]  field of the thing
--
-- Answers an array: the server's time in ms; and the values of about, seen and the thing, empty where there is none.

local answer = {clock()}
for i, field in ipairs({'about', 'seen', ARGV[1]}) do
  answer[i + 1] = redis.call('hget', KEYS[1], field) or ''
end
return answer
