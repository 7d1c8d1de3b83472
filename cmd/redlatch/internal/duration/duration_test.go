package duration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
)

func TestADurationHasItsUnit(t *testing.T) {
	var d duration.Duration
	require.NoError(t, d.UnmarshalText([]byte("90s")))
	require.Equal(t, 90*time.Second, time.Duration(d))
	require.ErrorContains(t, d.UnmarshalText([]byte("10")), "say the unit")
	require.ErrorContains(t, d.UnmarshalText([]byte("soon")), "such as 90s")
}

func TestSecondsNeedNoUnit(t *testing.T) {
	for text, want := range map[string]time.Duration{"10": 10 * time.Second, "0.5": time.Second / 2, "2m": 2 * time.Minute, "0": 0} {
		var s duration.Seconds
		require.NoError(t, s.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, time.Duration(s), text)
	}
	for _, text := range []string{"soon", "nan", "inf", "1e300"} {
		var s duration.Seconds
		require.Error(t, s.UnmarshalText([]byte(text)), text)
	}
}
