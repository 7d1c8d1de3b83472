-- renew_read lengthens the promises of the readers that still read, and holds the locks to them.
-- KEYS[i]        for each reader the lock hash, the list of our readers, the record of strangers, then its markers 1, 2, ...;
--                behind those, for each, the notices of what was taken by force
-- ARGV[3*r - 2]  number of markers of reader r among the keys
-- ARGV[3*r - 1]  its owner
-- ARGV[3*r]      milliseconds that its promise is lengthened to; 0 leaves the promise alone
--
-- Answers an array with one element for each reader: 1 when it still reads, and when not the notice for it,
-- or 0.

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
for r, reads in ipairs(alive) do
  if reads == 0 then
    alive[r] = gone(KEYS[key + r - 1], ARGV[3 * r - 1])
  end
end
return alive
