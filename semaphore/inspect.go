package semaphore

import (
	"context"

	"github.com/redlatch/redlatch"
)

// Inspect tells whether the semaphore exists, how many permits are available, for how long it lasts, and how many calls of
// this process wait for it. Who has the others nobody knows.
func (s *Semaphore) Inspect(ctx context.Context) (redlatch.Info, error) {
	return s.counter.Inspect(ctx)
}

var _ redlatch.Inspector = (*Semaphore)(nil)
