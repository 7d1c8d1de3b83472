-- report writes into a client's entry what has changed, and into the index until when the entry lasts. Ages are turned into times
-- of the server's clock.
-- KEYS[1-2]  index: sorted set, member = uuid, score = when its entry ends; entry: hash
-- KEYS[3]    asked: hash, field = identity whose holds somebody asks for, value = until when
-- KEYS[4]    watched: a key with a TTL of ten seconds at most, while somebody looks at the entries of the bucket
-- ARGV[1-2]  uuid of the client; milliseconds that the entry lasts
-- ARGV[3]    1: the entry is written anew; 0: nothing is written if it does not exist
-- ARGV[4-5]  about, a JSON object that is not empty; empty: the entry has it. Age of the process, which is added to it
-- ARGV[6-8]  milliseconds between two reports of a client: with few others in its bucket, for each client of it, and the most
-- ARGV[9]    milliseconds that no entry lasts: a member of the index that ends later was forged
-- ARGV[10]   how many fields are removed
-- ARGV[i]    from 11 on: the fields that are removed; then each field that is set, and its value, in which -5 behind a comma or an at
--            sign stands for the moment five milliseconds ago
--
-- Answers an array: 1 when it has written, 0 when the entry did not exist; how many entries the index has; 1 while somebody looks, else 0;
-- 0, or 1 when KEYS[3] has something that makes no sense; and when it has written, the identities whose holds somebody asks for. Anybody may
-- have written KEYS[3]: what makes no sense there is passed over and left as it is, be it a key of another type, more than a hundred fields,
-- or one field. A key at KEYS[4] that lasts for longer says nothing: a reader that has forgotten it would have all clients report for ever.

local now = clock()
if ARGV[3] == '0' and redis.call('exists', KEYS[2]) == 0 then
  return {0, redis.call('zcard', KEYS[1]), 0, 0}
end

local present, latest = whole(now), whole(now + ARGV[9])
local clients = redis.call('zcount', KEYS[1], '(' .. present, latest)
local every = math.min(math.max(ARGV[6], clients * ARGV[7]), ARGV[8])

-- The first write is one that takes memory: a server that has none refuses there, and nowhere behind.
-- The TTL comes right behind it: what a user without some right has written so far must not stay.
redis.call('hset', KEYS[2], 'seen', present, 'every', every)
if ARGV[3] == '1' then
  redis.call('del', KEYS[2])
  redis.call('hset', KEYS[2], 'seen', present, 'every', every)
end
local lasts = redis.pcall('pexpire', KEYS[2], ARGV[2])
if type(lasts) == 'table' then
  redis.call('hdel', KEYS[2], 'seen', 'every')
  return lasts
end
redis.call('zremrangebyscore', KEYS[1], '-inf', present) -- of clients that died
redis.call('zremrangebyscore', KEYS[1], '(' .. latest, '+inf')
local indexed = redis.call('pttl', KEYS[1])
if ARGV[4] ~= '' then
  redis.call('hset', KEYS[2], 'about', string.sub(ARGV[4], 1, -2) .. ',"started":' .. whole(now - ARGV[5]) .. '}')
end
for i = 11, 10 + ARGV[10] do
  redis.call('hdel', KEYS[2], ARGV[i])
end
for i = 11 + ARGV[10], #ARGV, 2 do
  local value = string.gsub(ARGV[i + 1], '([,@])%-(%d+)', function(mark, age) return mark .. whole(now - age) end)
  redis.call('hset', KEYS[2], ARGV[i], value)
end

redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
if indexed < tonumber(ARGV[2]) then -- of a new index it is negative
  redis.call('pexpire', KEYS[1], ARGV[2])
end

local looks = redis.call('pttl', KEYS[4]) -- negative where it is not there, and where it has no TTL
local answer = {1, redis.call('zcard', KEYS[1]), looks > 0 and looks <= 10000 and 1 or 0, 0}
local size = redis.pcall('hlen', KEYS[3]) -- an error is a table
local fits = type(size) == 'number' and size <= 100
local asked = fits and size > 0 and redis.call('hgetall', KEYS[3]) or {}
for i = 1, #asked, 2 do
  local ends = tonumber(asked[i + 1])
  if #asked[i] > 100 or not ends then
    fits = false
  elseif ends > now then
    answer[#answer + 1] = asked[i]
  end
end
answer[4] = fits and 0 or 1
return answer
