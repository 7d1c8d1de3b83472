package dispatch

import "context"

// A courier is another way than by channels to have a worker lead for a caller that is alone and may leave. It
// is nil where the system has none.
type courier interface {
	// takeLocked tells whether the courier is free, which has it serve the next call of do.
	takeLocked() bool

	// do has a worker lead b, which is the one request of a caller, and waits for its end or for that of ctx.
	do(ctx context.Context, b batch) error

	// sweepLocked is called by each sweep of the node. It ends a worker that has rested since the sweep before,
	// and tells whether there is none.
	sweepLocked() (none bool)
}
