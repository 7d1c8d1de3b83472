package suite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/semaphore"
)

// A replica has nothing to give, and what its copy lacks the master may have: that a semaphore is not there,
// or empty, and that a latch was never set, are no answers there.
func TestAReplicaSaysWhatItIs(t *testing.T) {
	master, replica := redistest.Replicated(t)
	ctx, rdb, brief := t.Context(), replica.Client(t), redlatch.WithOutage(50*time.Millisecond)
	_, err := semaphore.New(master.Client(t), "empty").TrySetPermits(ctx, 0)
	require.NoError(t, err)
	permits := permitsemaphore.New(master.Client(t), "empty permits")
	_, err = permits.TrySetPermits(ctx, 1)
	require.NoError(t, err)
	permit, err := permits.Acquire(ctx, 1)
	require.NoError(t, err)
	defer func() { require.NoError(t, permit.Release(context.WithoutCancel(ctx))) }()
	require.Eventually(t, func() bool { return len(replica.Keys(t)) == len(master.Keys(t)) }, time.Minute, 10*time.Millisecond, "it is copied")

	sized := semaphore.New(rdb, "missing", brief, redlatch.WithReleaseTimeout(50*time.Millisecond), semaphore.WithPermits(5))
	sizedPermits := permitsemaphore.New(rdb, "missing permits", brief, permitsemaphore.WithPermits(5))
	require.ErrorContains(t, sized.Release(ctx, 1), "is a replica", "it knows nothing of a semaphore that its master may have")
	s, p := semaphore.New(rdb, "empty", brief), permitsemaphore.New(rdb, "empty permits", brief)
	for _, c := range append(cells(rdb, brief),
		cell{"semaphore, empty", func(ctx context.Context, opts ...redlatch.Option) error { return s.Acquire(ctx, 1, opts...) },
			func(ctx context.Context) error { return s.TryAcquire(ctx, 1) }, nil},
		cell{"semaphore, several, empty", func(ctx context.Context, opts ...redlatch.Option) error { return s.Acquire(ctx, 3, opts...) },
			func(ctx context.Context) error { return together(10, func() error { return s.TryAcquire(ctx, 1) }) }, nil},
		cell{"semaphore that would be set up", func(ctx context.Context, opts ...redlatch.Option) error { return sized.Acquire(ctx, 1, opts...) },
			func(ctx context.Context) error { return sized.TryAcquire(ctx, 1) }, nil},
		cell{"permitsemaphore that would be set up", func(ctx context.Context, opts ...redlatch.Option) error {
			_, err := sizedPermits.Acquire(ctx, 1, opts...)
			return err
		}, func(ctx context.Context) error { _, err := sizedPermits.TryAcquire(ctx, 1); return err }, nil},
		cell{"permitsemaphore, empty", func(ctx context.Context, opts ...redlatch.Option) error {
			_, err := p.Acquire(ctx, 1, opts...)
			return err
		}, func(ctx context.Context) error { _, err := p.TryAcquire(ctx, 1); return err }, nil}) {
		for _, call := range callForms {
			if c.try == nil && call.name == "`Try…`" {
				continue
			}
			t.Run(c.name+"/"+call.name, func(t *testing.T) {
				err := call.make(ctx, c)
				require.ErrorIs(t, err, redlatch.ErrUnavailable)
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
				if c.name != "redlock" {
					require.ErrorContains(t, err, "is a replica")
				}
			})
		}
	}
}

// together makes a call so many times at once, and joins what they say.
func together(n int, call func() error) error {
	said := make(chan error, n)
	for range n {
		go func() { said <- call() }()
	}
	var all []error
	for range n {
		all = append(all, <-said)
	}
	return errors.Join(all...)
}
