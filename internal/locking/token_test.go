package locking

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/settings"
)

func TestABlockIsLargerThanWhatTheLastStreakGaveOut(t *testing.T) {
	kind := HandingOver(Plain())
	b := &baselock.Base{Kind: &kind}
	set := settings.Defaults()
	for _, c := range []struct{ last, given, want int }{
		{0, 0, 8}, {0, 1, 8}, {0, 2, 16}, {100, 0, 512}, {100, 50, 512}, {100, 150, 512}, {300, 0, 600}, {2048, 0, 4096}, {5000, 0, 4096}, {0, 1 << 40, 4096},
	} {
		o, line := baselock.NewTenureAs(b, &set, "giver"), &cohort.Cohort{}
		o.Streak = &cohort.Streak{Given: c.given}
		line.Given.Store(int64(c.last))
		require.EqualValues(t, c.want, blockFor(o, &set, line), "%+v", c)
	}
	fixed := set
	fixed.Lease = time.Minute
	require.EqualValues(t, 1, blockFor(baselock.NewTenureAs(b, &set, "giver"), &fixed, nil), "it has no successors")
}
