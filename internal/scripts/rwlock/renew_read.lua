-- renew_read lengthens the promises of the readers that still read, and holds the locks to them.
--
-- KEYS[i]        for each reader the lock hash, the list of our readers, the record of strangers, then its markers 1, 2, ...
-- ARGV[3*r - 2]  number of markers of reader r among the keys
-- ARGV[3*r - 1]  its owner
-- ARGV[3*r]      milliseconds that its promise is lengthened to; 0 leaves the promise alone
--
-- Answers an array with one number for each reader: 1 when it still reads, 0 when not.

local alive, key = {}, 1
for r = 1, #ARGV, 3 do
  lock, readers, record = KEYS[key], KEYS[key + 1], KEYS[key + 2]
  local markers = tonumber(ARGV[r])
  local reads = keep(ARGV[r + 1], key + 3, markers, tonumber(ARGV[r + 2]))
  if type(reads) == 'table' then
    return reads
  end
  alive[#alive + 1] = reads
  key = key + 3 + markers
end
return alive
