package countdownlatch

import (
	"context"

	"github.com/redlatch/redlatch"
)

// Inspect tells whether the latch exists, what is still to be counted, for how long it lasts, and how many calls of this
// process wait for it. How a latch ended that is gone, Await says.
func (l *Latch) Inspect(ctx context.Context) (redlatch.Info, error) {
	info, err := l.counter.Inspect(ctx)
	info.Value = max(info.Value, 0)
	return info, err
}

var _ redlatch.Inspector = (*Latch)(nil)
