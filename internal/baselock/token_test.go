package baselock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReEntryDrawsFromTheBlock(t *testing.T) {
	for what, c := range map[string]struct{ token, spare, issued, wantToken, wantSpare int64 }{
		"the next of the block":                          {5, 3, 8, 6, 2},
		"the last of the block":                          {7, 1, 8, 8, 0},
		"the block is used up":                           {8, 0, 9, 9, 0},
		"the counter is above, and the block is void":    {5, 3, 11, 11, 0},
		"an answer below what the owner has is no token": {5, 3, 4, 5, 0},
		"a lock without tokens":                          {},
	} {
		o := NewTenureAs(nil, nil, "owner")
		o.First.Token, o.Spare = c.token, c.spare
		o.First.drawLocked(c.issued)
		require.Equal(t, []int64{c.wantToken, c.wantSpare}, []int64{o.First.Token, o.Spare}, what)
	}
}
