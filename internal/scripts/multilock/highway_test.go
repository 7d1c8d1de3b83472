package multilock

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The first values are those of the tests of google/highwayhash (kExpected128); the sum over all lengths up to 255 bytes,
// eight blocks with every remainder, was computed with github.com/minio/highwayhash 1.0.4.
func TestHighwayHashIsThatOfItsInventors(t *testing.T) {
	key := [4]uint64{0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110, 0x1f1e1d1c1b1a1918}
	first := [][2]uint64{
		{0x0fed268f9d8ffec7, 0x33565e767f093e6f}, {0xd6b0a8893681e7a8, 0xdc291df9eb9cdcb4}, {0x3d15ad265a16da04, 0x78085638dc32e868},
	}
	all, data := sha256.New(), []byte{}
	for size := range 256 {
		low, high := highwayHash128(key, data)
		if size < len(first) {
			require.Equal(t, first[size], [2]uint64{low, high}, "of %d bytes", size)
		}
		all.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, low), high))
		data = append(data, byte(size))
	}
	require.Equal(t, "4a27e18336f2b1c4cd17cedef16fd0bc0eebd17c56cb15d7591ebee38e461227",
		fmt.Sprintf("%x", all.Sum(nil)))
}
