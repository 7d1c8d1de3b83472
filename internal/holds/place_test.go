package holds_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/holds"
)

// acquired is so many holds of which a method of the library has the place noted, and how many have one.
//
//go:noinline
func acquired(n int) (with int) {
	for range n {
		if holds.Acquired(nil, 0) != nil {
			with++
		}
	}
	return with
}

func TestTheFirstHoldsHaveAPlaceSomeOfTheOthersAndAllOnceOneWasMissed(t *testing.T) {
	holds.Begin()
	require.Equal(t, 256, acquired(256))
	with := acquired(100_000)
	require.Greater(t, with, 3_000)
	require.Less(t, with, 10_000)

	var none *holds.Place
	require.Equal(t, slog.KindString, none.LogValue().Kind())
	require.Contains(t, none.LogValue().String(), "from now on")
	require.Equal(t, 1_000, acquired(1_000))
}
