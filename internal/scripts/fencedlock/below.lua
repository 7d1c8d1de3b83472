-- below compares two positive integers in decimals. It is a prelude, joined in front of the script.
--
-- Answers of the function: whether the first is less than the second. The longer text is the greater number. They are
-- compared as text because the numbers of Lua are exact only to 2^53.

local function below(a, b)
  return #a < #b or #a == #b and a < b
end
