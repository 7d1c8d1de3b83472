-- gone tells who has freed an owner by force that does not hold any more. It is a prelude.
-- key is that of the notices; nil where it is not declared, because the user has no right to it or its slot
-- moves. What cannot be read, or makes no sense, is no notice: the loss is told without it.
--
-- Answers of the function are the notice, or 0.

local function gone(key, owner)
  local notice = key and redis.pcall('hget', key, owner)
  return type(notice) == 'string' and string.find(notice, '\n', 1, true) and notice or 0
end
