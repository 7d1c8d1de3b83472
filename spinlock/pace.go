package spinlock

import (
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/settings"
)

// spinning is the plain kind without a channel: its releases publish nothing, as Redisson's do, and its
// waiters poll. A message on release would cost the server something each time and reach nobody but waiters
// of another kind.
var spinning = func() baselock.Kind {
	kind := locking.HandingOn(locking.Plain())
	kind.Label = redlatch.KindSpinLock
	kind.Takes |= settings.BackOff
	kind.Channel = nil
	kind.Pace = pace
	return kind
}()

// pace makes the sleeps of one wait. A policy is not safe for concurrent use, and each wait begins anew, so
// each gets one of its own.
func pace(set *settings.Settings) func() time.Duration {
	if next := set.BackOff; next != nil {
		n := int64(0)
		return func() time.Duration {
			n++
			return max(next(n), settings.MinBackOff)
		}
	}
	// The library takes its intervals for the middle of what may be slept, and would sleep longer than the
	// maximum. Three quarters, give or take a third of that, are a half to the whole. An elapsed time of 0 is no
	// limit: by default the policy would answer -1 after 15 minutes, which as a sleep is a hot loop.
	exponential := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(settings.DefaultBackOffInitial*3/4),
		backoff.WithMaxInterval(settings.DefaultBackOffMax*3/4),
		backoff.WithRandomizationFactor(1./3),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0))
	return func() time.Duration { return min(exponential.NextBackOff(), settings.DefaultBackOffMax) }
}
