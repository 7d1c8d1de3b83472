package locktest

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
)

// A Lock is what all locks of this module have. Programs have no such interface, which could not grow: they take a Locker, or write
// down the methods that they call.
type Lock interface {
	redlatch.Locker
	redlatch.Inspector

	Do(ctx context.Context, fn func(ctx context.Context) error, opts ...redlatch.Option) error
	IsLocked(ctx context.Context) (bool, error)
	HoldCount(ctx context.Context) (int64, error)
	RemainingTTL(ctx context.Context) (time.Duration, error)
	ForceUnlock(ctx context.Context) (bool, error)
}
