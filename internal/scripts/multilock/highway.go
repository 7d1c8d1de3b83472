package multilock

import (
	"encoding/binary"
	"math/bits"
)

// A highway is the state of a HighwayHash (Alakuijala, Cox, Wassenberg: "Fast keyed hash/pseudo-random
// function using SIMD multiply and permute", 2016; the algorithm is frozen). It is here because Redisson
// names the fields of a group by the 128-bit form. A value is hashed once for each call, so the plain form
// without vector instructions is enough.
type highway struct{ v0, v1, mul0, mul1 [4]uint64 }

// block is the number of bytes that one update takes in.
const block = 32

var (
	highwayMul0 = [4]uint64{0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3}
	highwayMul1 = [4]uint64{0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377}
)

// highwayHash128 returns the low and the high half of the hash.
func highwayHash128(key [4]uint64, data []byte) (low, high uint64) {
	h := highway{mul0: highwayMul0, mul1: highwayMul1}
	for i, word := range key {
		h.v0[i] = highwayMul0[i] ^ word
		h.v1[i] = highwayMul1[i] ^ bits.RotateLeft64(word, 32)
	}
	for ; len(data) >= block; data = data[block:] {
		h.update(lanes(data))
	}
	if len(data) > 0 {
		h.rest(data)
	}
	for range 6 {
		h.update([4]uint64{
			bits.RotateLeft64(h.v0[2], 32), bits.RotateLeft64(h.v0[3], 32),
			bits.RotateLeft64(h.v0[0], 32), bits.RotateLeft64(h.v0[1], 32),
		})
	}
	return h.v0[0] + h.mul0[0] + h.v1[2] + h.mul1[2], h.v0[1] + h.mul0[1] + h.v1[3] + h.mul1[3]
}

func lanes(data []byte) (l [4]uint64) {
	for i := range l {
		l[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return l
}

func (h *highway) update(lanes [4]uint64) {
	for i, lane := range lanes {
		h.v1[i] += h.mul0[i] + lane
		h.mul0[i] ^= h.v1[i] & 0xffffffff * (h.v0[i] >> 32)
		h.v0[i] += h.mul1[i]
		h.mul1[i] ^= h.v0[i] & 0xffffffff * (h.v1[i] >> 32)
	}
	for i := 0; i < 4; i += 2 {
		zip(h.v1[i], h.v1[i+1], &h.v0[i], &h.v0[i+1])
	}
	for i := 0; i < 4; i += 2 {
		zip(h.v0[i], h.v0[i+1], &h.v1[i], &h.v1[i+1])
	}
}

// zip adds the bytes of a pair of words to another pair, in the order that spreads the well mixed middle
// bytes of the products best. A byte of the result is named by the word, a or b, and the place of the byte
// that it comes from.
func zip(a, b uint64, toA, toB *uint64) {
	pick := func(word uint64, from, to int) uint64 { return word >> (8 * from) & 0xff << (8 * to) }
	*toA += pick(a, 3, 0) | pick(b, 4, 1) | pick(a, 2, 2) | pick(a, 5, 3) |
		pick(b, 6, 4) | pick(a, 1, 5) | pick(b, 7, 6) | pick(a, 0, 7)
	*toB += pick(b, 3, 0) | pick(a, 4, 1) | pick(b, 2, 2) | pick(b, 5, 3) |
		pick(b, 1, 4) | pick(a, 6, 5) | pick(b, 0, 6) | pick(a, 7, 7)
}

// rest takes in the last bytes, fewer than a block, and their number.
func (h *highway) rest(data []byte) {
	size := len(data)
	for i := range h.v0 {
		h.v0[i] += uint64(size)<<32 + uint64(size)
		low, high := uint32(h.v1[i]), uint32(h.v1[i]>>32)
		h.v1[i] = uint64(bits.RotateLeft32(high, size))<<32 | uint64(bits.RotateLeft32(low, size))
	}
	var last [block]byte
	whole, odd := size&^3, size&3
	copy(last[:], data[:whole])
	switch {
	case size >= 16:
		copy(last[28:], data[size-4:]) // the last four bytes, be they in last already or not
	case odd > 0:
		tail := data[whole:]
		last[16], last[17], last[18] = tail[0], tail[odd/2], tail[odd-1]
	}
	h.update(lanes(last[:]))
}
