-- no_token is for locks that issue no tokens. It is a prelude, joined in front of the script.
--
-- Answers of the functions: '0', which stands for no token.

local function issue()
  return '0'
end

local function own()
  return '0'
end
