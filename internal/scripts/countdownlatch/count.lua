-- count reads what is still to be counted. It follows the prelude value.
--
-- KEYS[1]  latch: what is still to be counted
--
-- Answers the count, 0 when the latch is open: it does not exist, or another program has stored 0 or less.

if not value or tonumber(value) <= 0 then
  return '0'
end
return value
