-- stand acquires the lock for the head of a local queue, by the function acquire, which is acquire_read or acquire_write. The candidate
-- of its process stands in the process queue if the head was refused, and leaves it if not.
-- KEYS[i]  those of the acquisition, and behind them what queue is about
-- ARGV[i]  those of the acquisition; the last five, for queue; and in front of these PUBLISH or SPUBLISH, and the wake channel
--
-- Answers as the acquisition does.

local answer = acquire()
if row and answer == -3 then
  depart(ARGV[#ARGV - 4], ARGV[#ARGV - 6], ARGV[#ARGV - 5])
elseif row and type(answer) == 'number' then
  stand(row, ARGV[#ARGV - 4], ARGV[#ARGV - 2], ARGV[#ARGV - 3])
end
return answer
