package keys

import "strings"

// Slots is the number of slots of a Redis cluster.
const Slots = 16384

// Slot is the cluster slot of key: the CRC16 of its hash tag, or of the whole key when it has none.
func Slot(key string) int {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if length := strings.IndexByte(key[open+1:], '}'); length > 0 {
			key = key[open+1 : open+1+length]
		}
	}
	crc := uint16(0)
	for i := 0; i < len(key); i++ {
		crc = crc<<8 ^ crc16[byte(crc>>8)^key[i]]
	}
	return int(crc) % Slots
}

// crc16 is the table of CRC-16/XMODEM, the checksum of the Redis cluster specification.
var crc16 = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()
