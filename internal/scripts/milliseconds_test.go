package scripts_test

import (
	"math"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

func TestMillisecondsAreRoundedUpAndNeverOverflow(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		0:                         0,
		1:                         1,
		time.Millisecond:          1,
		time.Millisecond + 1:      2,
		time.Second:               1000,
		math.MaxInt64:             9223372036855,
		math.MaxInt64 - 999_999_9: 9223372036845,
	} {
		if got := scripts.Milliseconds(d); got != want {
			t.Errorf("Milliseconds(%d ns) = %d, want %d", int64(d), got, want)
		}
	}
}
