-- alone is for an acquisition by a caller that does not wait. It is a prelude, and takes the place of the preludes announce
-- and wait.
--
-- Answers nothing: the arguments of the acquisition begin with ARGV[first], and there is no row to stand in.

local first, stand = 3
