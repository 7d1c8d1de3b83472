-- report writes into a client's entry what has changed, and into the index until when the entry lasts. Ages are turned into times
-- of the server's clock.
-- KEYS[1-2]  index: sorted set, member = uuid, score = when its entry ends; entry: hash
-- KEYS[3]    asked: hash, field = identity whose holds somebody asks for, value = until when
-- KEYS[4]    watched: a key with a TTL of ten seconds at most, while somebody looks at the entries of the bucket
-- ARGV[1-2]  uuid of the client; milliseconds that the entry lasts
-- ARGV[3]    1: the entry is written anew; 0: nothing is written if it does not exist
-- ARGV[4]    about, a JSON object that is not empty; empty: the entry has it
-- ARGV[5]    age of the process, which is added to about
-- ARGV[6]    how often a client reports, in milliseconds, that has few others in its bucket
-- ARGV[7]    the milliseconds of it for each client of the bucket, where these are more
-- ARGV[8]    how often at least, however many they are
-- ARGV[9]    milliseconds that no entry lasts: a member of the index that ends later was forged
-- ARGV[10]   how many fields are removed
-- ARGV[at]   from 11 on: the fields that are removed; then of each thing its field, holds, age of the oldest of them, waiters,
--            age of the oldest of them, waits that have ended, their milliseconds, number of owners, of each owner its id and age,
--            and the ids of those that are kept, empty for none
--
-- Answers an array: 1 when it has written, 0 when the entry did not exist; how many entries the index has; 1 while somebody looks, else 0;
-- 0, or 1 when KEYS[3] has something that makes no sense; and when it has written, the identities whose holds somebody asks for. Anybody may
-- have written KEYS[3]: what makes no sense there is passed over and left as it is, be it a key of another type, more than a hundred fields,
-- or one field. A key at KEYS[4] that lasts for longer says nothing: a reader that has forgotten it would have all clients report for ever.

local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[3] == '0' and redis.call('exists', KEYS[2]) == 0 then
  return {0, redis.call('zcard', KEYS[1]), 0, 0}
end

local at = 10
local function take()
  at = at + 1
  return ARGV[at]
end
local function since(age) -- in digits, where tostring would write an exponent
  return string.format('%.0f', now - age)
end
local function oldest(count, age)
  return count .. ',' .. (count == '0' and '0' or since(age))
end

local latest = since(-ARGV[9])
local clients = redis.call('zcount', KEYS[1], '(' .. since(0), latest)
local every = math.min(math.max(ARGV[6], clients * ARGV[7]), ARGV[8])
local function seen()
  redis.call('hset', KEYS[2], 'seen', since(0), 'every', every)
end

-- The first write is one that takes memory: a server that has none refuses there, and nowhere behind.
-- The TTL comes right behind it: what a user without some right has written so far must not stay.
seen()
if ARGV[3] == '1' then
  redis.call('del', KEYS[2])
  seen()
end
local lasts = redis.pcall('pexpire', KEYS[2], ARGV[2])
if type(lasts) == 'table' then
  redis.call('hdel', KEYS[2], 'seen', 'every')
  return lasts
end
redis.call('zremrangebyscore', KEYS[1], '-inf', since(0)) -- of clients that died
redis.call('zremrangebyscore', KEYS[1], '(' .. latest, '+inf')
local indexed = redis.call('pttl', KEYS[1])
if ARGV[4] ~= '' then
  redis.call('hset', KEYS[2], 'about', string.sub(ARGV[4], 1, -2) .. ',"started":' .. since(ARGV[5]) .. '}')
end
for _ = 1, tonumber(ARGV[10]) do
  redis.call('hdel', KEYS[2], take())
end
while at < #ARGV do
  local field = take()
  local value = oldest(take(), take()) .. ',' .. oldest(take(), take()) .. ',' .. take() .. ',' .. take() .. ','
  local owners = {}
  for i = 1, tonumber(take()) do
    owners[i] = take() .. '@' .. since(take())
  end
  local kept = take()
  redis.call('hset', KEYS[2], field, value .. table.concat(owners, ' ') .. (kept == '' and '' or ',' .. kept))
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
if not fits then
  answer[4] = 1
end
return answer
