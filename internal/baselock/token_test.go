package baselock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/settings"
)

func TestABlockIsLargerThanWhatTheLastStreakGaveOut(t *testing.T) {
	kind := Plain().HandingOver()
	b := &Base{Kind: &kind}
	set := settings.Defaults()
	for _, c := range []struct{ last, given, want int }{
		{0, 0, 8}, {0, 1, 8}, {0, 2, 16}, {100, 0, 512}, {100, 50, 512}, {100, 150, 512}, {300, 0, 600}, {2048, 0, 4096}, {5000, 0, 4096}, {0, 1 << 40, 4096},
	} {
		o, line := newTenureAs(b, &set, "giver"), &cohort.Cohort{}
		o.streak = &cohort.Streak{Given: c.given}
		line.Given.Store(int64(c.last))
		require.EqualValues(t, c.want, o.blockFor(&set, line), "%+v", c)
	}
	fixed := set
	fixed.Lease = time.Minute
	require.EqualValues(t, 1, newTenureAs(b, &set, "giver").blockFor(&fixed, nil), "it has no successors")
}

func TestAReEntryDrawsFromTheBlock(t *testing.T) {
	for what, c := range map[string]struct{ token, spare, issued, wantToken, wantSpare int64 }{
		"the next of the block":                          {5, 3, 8, 6, 2},
		"the last of the block":                          {7, 1, 8, 8, 0},
		"the block is used up":                           {8, 0, 9, 9, 0},
		"the counter is above, and the block is void":    {5, 3, 11, 11, 0},
		"an answer below what the owner has is no token": {5, 3, 4, 5, 0},
		"a lock without tokens":                          {},
	} {
		o := newTenureAs(nil, nil, "owner")
		o.first.token, o.spare = c.token, c.spare
		o.first.drawLocked(c.issued)
		require.Equal(t, []int64{c.wantToken, c.wantSpare}, []int64{o.first.token, o.spare}, what)
	}
}
