package listing

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/scripts/entry"
)

// Whoever may write to the key of an entry can write any number there.
func TestTimesOfAnEntryThatMakeNoSenseAreNone(t *testing.T) {
	const uuid, now = "00000000-aaaa-8aaa-8aaa-aaaaaaaaaaaa", 1764000000000
	field := registry.Thing{Kind: "lock", Key: "orders"}.Field()
	read := func(ms int64) Said {
		thing := registry.Thing{Kind: "lock", Key: "orders", Holds: 1, HeldSince: 1, Owners: []registry.Owner{{ID: "7", Since: ms}}}
		return said(entry.Look{Now: now, Seen: strconv.FormatInt(ms, 10), Thing: thing.Value()}, field, uuid, uuid+":7")
	}
	for _, ms := range []int64{0, -1, math.MinInt64} {
		s := read(ms)
		require.True(t, s.Seen.IsZero(), ms)
		require.True(t, s.Since.IsZero(), ms)
	}
	for _, ms := range []int64{now - 5000, now + 1, math.MaxInt64} {
		before := time.Now()
		s := read(ms)
		passed := time.Since(before)
		for _, got := range []time.Time{s.Seen, s.Since} {
			age := before.Add(passed).Sub(got)
			want := time.Duration(max(0, now-ms)) * time.Millisecond
			require.GreaterOrEqual(t, age, want, "%d: no time is in the future", ms)
			require.LessOrEqual(t, age, want+passed, ms)
		}
	}
}
