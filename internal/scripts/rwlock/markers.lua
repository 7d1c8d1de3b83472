-- markers names the markers of readers. It is a prelude of the scripts that look at the markers of others than the owner that
-- sends them: these can only be known from the hash. A script that needs one which is not declared asks for it, and is sent once
-- more with it. Two questions find all readers that stay: one for the list of ours, and one for the others. So a script that has asked
-- three times goes on without the markers that it still does not know. Their readers came after the script was first sent.
-- KEYS[1]  lock hash: see strangers
-- KEYS[i]  among others, the markers for which it has asked; and, when it has asked three times, a marker with the number 0 and no owner

local stem = (KEYS[1]:find('{', 1, true) and KEYS[1] or '{' .. KEYS[1] .. '}') .. ':'
local declared
local asked = {}

-- markers answers the markers of a field with so many holds; a writer's has none. If one of them is not declared there are none, and the script has
-- to end with ask before its first write; or the second answer is true, and it goes on without them.
local function markers(owner, holds)
  if not declared then
    declared = {}
    for i = 2, #KEYS do
      declared[KEYS[i]] = true
    end
  end
  local found = {}
  for i = 1, owner:sub(-6) == ':write' and 0 or holds do
    found[i] = stem .. owner .. ':rwlock_timeout:' .. i
    if not declared[found[i]] then
      if declared[stem .. ':rwlock_timeout:0'] then
        return {}, true
      end
      asked[#asked + 1] = owner:gsub('[%c %%]', function(c) return string.format('%%%02X', c:byte()) end)
      asked[#asked + 1] = tostring(holds)
      return {}
    end
  end
  return found
end

-- ask answers the error that asks for the markers: owners, in which a blank and other such bytes are %20 and the like, each with
-- the number of its holds.
local function ask()
  return redis.error_reply('REDLATCH-KEYS ' .. table.concat(asked, ' '))
end
