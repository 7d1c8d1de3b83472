package suite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
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

// A call that would change something is an error on a replica also where its copy has nothing to change: the master may have it.
func TestWhatFindsNothingToChangeOnAReplicaIsAnError(t *testing.T) {
	master, replica := redistest.Replicated(t)
	ctx, rdb, brief := t.Context(), replica.Client(t), []redlatch.Option{redlatch.WithOutage(time.Second), redlatch.WithReleaseTimeout(time.Second)}
	set, setPermits, setLatch := semaphore.New(master.Client(t), "set"), permitsemaphore.New(master.Client(t), "set permits"), countdownlatch.New(master.Client(t), "set latch")
	for _, try := range []func(context.Context, int64, ...redlatch.Option) (bool, error){set.TrySetPermits, setPermits.TrySetPermits, setLatch.TrySetCount} {
		_, err := try(ctx, 3)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return len(replica.Keys(t)) == len(master.Keys(t)) }, time.Minute, 10*time.Millisecond, "it is copied")

	s, p, l := semaphore.New(rdb, "none", brief...), permitsemaphore.New(rdb, "no permits", brief...), countdownlatch.New(rdb, "no latch", brief...)
	said := func(_ any, err error) error { return err }
	const id = "00000000000000000000000000000000"
	for what, call := range map[string]func() error{
		"ReleaseIfExists":                   func() error { return said(s.ReleaseIfExists(ctx, 1)) },
		"Delete":                            func() error { return said(s.Delete(ctx)) },
		"Expire":                            func() error { return said(s.Expire(ctx, time.Hour)) },
		"Persist":                           func() error { return said(s.Persist(ctx)) },
		"DrainPermits":                      func() error { return said(s.DrainPermits(ctx)) },
		"TrySetPermits, set":                func() error { return said(semaphore.New(rdb, "set", brief...).TrySetPermits(ctx, 3)) },
		"permits: Release":                  func() error { return p.Release(ctx, id) },
		"permits: UpdateLease":              func() error { return p.UpdateLease(ctx, id, time.Hour) },
		"permits: Delete":                   func() error { return said(p.Delete(ctx)) },
		"permits: Expire":                   func() error { return said(p.Expire(ctx, time.Hour)) },
		"permits: Persist":                  func() error { return said(p.Persist(ctx)) },
		"permits: TrySetPermits, set":       func() error { return said(permitsemaphore.New(rdb, "set permits", brief...).TrySetPermits(ctx, 3)) },
		"permits: SetPermits, the same":     func() error { return permitsemaphore.New(rdb, "set permits", brief...).SetPermits(ctx, 3) },
		"latch: CountDown":                  func() error { return l.CountDown(ctx) },
		"latch: Delete":                     func() error { return said(l.Delete(ctx)) },
		"latch: TrySetCount, set":           func() error { return said(countdownlatch.New(rdb, "set latch", brief...).TrySetCount(ctx, 3)) },
		"AddPermits, which writes":          func() error { return said(s.AddPermits(ctx, 1)) },
		"permits: AddPermits, which writes": func() error { return said(p.AddPermits(ctx, 1)) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			err := call()
			require.ErrorIs(t, err, redlatch.ErrUnavailable)
			require.ErrorContains(t, err, "is a replica")
		})
	}
}
