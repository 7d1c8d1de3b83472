-- outsiders has the processes leave the lock to those that listen for its end and stand in no queue, as Redisson's
-- writers do. It is a prelude, joined behind strangers.
--
-- A script of a reader that finds one announces outsiders, as a writer announces itself. From then on no
-- reader comes in, and none joins those of its process. So the lock is free as soon as those that read have
-- left; then it is left to outsiders for a moment more, also by the heads that want to write. If some readers
-- stay for long the announcement is over before. A while passes before the next one.

-- Milliseconds that it lasts; those of them in which the lock is free; and those between two announcements.
local drain, open, pause = 100, 20, 250

-- listeners answers how many connections listen to the channel, and whether one of them is an outsider's.
-- Where that cannot be known there are enough, and none is. queue is the name of the process queue, without
-- which it is not known who is an outsider.
local function listeners(publish, channel, queue)
  local known = (queue or channel) .. ':known'
  local count = redis.pcall('pubsub', publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', channel, known)
  if not count.err then
    return tonumber(count[2]), queue and tonumber(count[2]) > tonumber(count[4])
  end
  return math.huge, false
end

-- attend announces the outsiders that listen, if any do, in the set of announcements. It answers how many
-- connections listen.
local function attend(announced, publish, channel, queue)
  local all, some = listeners(publish, channel, queue)
  local till = some and redis.call('zscore', announced, 'outsiders')
  if some and (not till or clock() > tonumber(till) + pause) then
    pcall(announce, announced, 'outsiders', drain, drain + pause)
  end
  return all
end

-- left answers for how many milliseconds the lock, which is free or not, is left to outsiders, or 0. With a
-- channel it is not where none of them listens any more.
local function left(announced, free, publish, channel, queue)
  local till = redis.call('zscore', announced, 'outsiders')
  local ms, some = till and tonumber(till) - clock() or 0, true
  if ms > 0 and channel then
    some = select(2, listeners(publish, channel, queue))
  end
  if ms <= 0 or not some then
    return 0
  end
  if free and ms > open then
    ms = open
    redis.pcall('zadd', announced, whole(clock() + open), 'outsiders')
  end
  return ms
end
