package fencedlock

import (
	"context"

	"github.com/redlatch/redlatch/internal/holds"
)

// TokenFrom returns the token of the innermost hold that ctx carries and that has one, and whether there is
// such a hold. Code inside [Lock.Do] gets its token in this way. Like Hold.Token it is the newest one of its
// holder. That the hold has ended does not matter: its token is still what the store has to judge the write
// by. The hold of several locks has no token.
func TokenFrom(ctx context.Context) (token int64, ok bool) {
	for hold := range holds.Carried(ctx) {
		if token := hold.Token(); token != 0 {
			return token, true
		}
	}
	return 0, false
}
