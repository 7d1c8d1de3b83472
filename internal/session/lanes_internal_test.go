package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// In a round that did not end, what the server remembers would come to its end in the middle of the operations.
func TestARoundEndsAfterHalfAMinuteOfOneClockWhateverTheOtherDoes(t *testing.T) {
	const half = 30 * time.Second
	for name, clocks := range map[string]struct{ running, shown []time.Duration }{
		"the machine sleeps":                {[]time.Duration{1, 2, 3}, []time.Duration{half, 2 * half, 3 * half}},
		"the time is set back":              {[]time.Duration{half, 2 * half, 3 * half}, []time.Duration{-time.Hour, half - time.Hour, 0}},
		"the time is set forward and back":  {[]time.Duration{1, 1 + half, 1 + 2*half}, []time.Duration{time.Hour, half, 2 * half}},
		"the time is set forward for a day": {[]time.Duration{1, 1 + half, 1 + 2*half}, []time.Duration{24 * time.Hour, 24*time.Hour + half, 2 * half}},
	} {
		t.Run(name, func(t *testing.T) {
			var l lanes
			require.False(t, l.roundOver(0, 0))
			for i := range clocks.running {
				require.True(t, l.roundOver(clocks.running[i], clocks.shown[i]))
				require.False(t, l.roundOver(clocks.running[i]+half-1, clocks.shown[i]), "a round lasts")
			}
		})
	}
}
