package redlatch_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// An inner is a hold without Redis.
type inner struct {
	ending    holds.Ending
	until     time.Time
	unlocked  atomic.Int64
	forgotten atomic.Bool
	extended  time.Duration
	err       error
}

func (i *inner) Unlock(context.Context) error {
	i.unlocked.Add(1)
	i.ending.End(redlatch.ErrReleased)
	return i.err
}

func (i *inner) Extend(_ context.Context, lease time.Duration) error {
	i.extended = lease
	return i.err
}

func (i *inner) Owner() string          { return "id:1" }
func (i *inner) Token() int64           { return 7 }
func (i *inner) Object() (p, n string)  { return "lock", "orders:42" }
func (i *inner) Until() time.Time       { return i.until }
func (i *inner) Ending() *holds.Ending  { return &i.ending }
func (i *inner) Leave()                 {}
func (i *inner) Forgotten(*holds.Place) { i.forgotten.Store(true) }

// A locker hands out one inner.
type locker struct {
	inner *inner
	err   error
}

func (locker) Name() string { return "lock" }

func (l locker) Lock(context.Context, ...redlatch.Option) (*redlatch.Hold, error) {
	if l.err != nil {
		return nil, l.err
	}
	return rootapi.Hold[*redlatch.Hold](l.inner, nil), nil
}

func (l locker) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return l.Lock(ctx, opts...)
}

var _ redlatch.Locker = locker{}

func TestAHoldTellsWhatItsLockKnows(t *testing.T) {
	i := &inner{until: time.Now().Add(time.Hour)}
	h := rootapi.Hold[*redlatch.Hold](i, nil)
	require.Equal(t, "id:1", h.Owner())
	require.EqualValues(t, 7, h.Token())
	require.Equal(t, i.until, h.Until())
	require.NoError(t, h.Extend(t.Context(), time.Minute))
	require.Equal(t, time.Minute, i.extended)
	err := h.Extend(t.Context(), time.Millisecond-1)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.Equal(t, time.Minute, i.extended, "nothing was asked")
	require.NoError(t, h.Unlock(t.Context()))
}

func TestAHoldInALogLineSaysOfWhatItIsAndWhose(t *testing.T) {
	hold := rootapi.Hold[*redlatch.Hold](&inner{until: time.Date(2026, 11, 25, 3, 12, 7, 0, time.UTC)}, nil)
	defer hold.Leave()
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("at work", "lock", hold)
	require.Contains(t, log.String(),
		`lock.name=orders:42 lock.primitive=lock lock.owner=id:1 lock.token=7 lock.until=2026-11-25T03:12:07.000Z`)
}

func TestAHoldIsValidUntilItsTrustOrItsEndAndNoLonger(t *testing.T) {
	i := &inner{until: time.Now().Add(time.Hour)}
	h := rootapi.Hold[*redlatch.Hold](i, nil)
	require.True(t, h.Valid())
	i.until = time.Now().Add(-1)
	require.False(t, h.Valid(), "by the clock, although nobody has ended it")
	i.until = time.Now().Add(time.Hour)
	i.ending.End(redlatch.ErrLost)
	require.False(t, h.Valid())
	_ = h.Unlock(t.Context())
}

func TestTheContextOfAHoldEndsWithUnlockAndSaysSo(t *testing.T) {
	h := rootapi.Hold[*redlatch.Hold](&inner{}, nil)
	ctx := h.Context(t.Context())
	detached := redlatch.Detach(ctx)
	require.NoError(t, h.Unlock(t.Context()))
	require.ErrorIs(t, context.Cause(ctx), redlatch.ErrReleased)
	require.Error(t, detached.Err())
	for range holds.Carried(detached) {
		t.Fatal("Detach left a hold in the context")
	}
}

func TestAHoldThatIsDroppedIsNoticedAndOneThatIsUnlockedIsNot(t *testing.T) {
	dropped, unlocked, carried := &inner{}, &inner{}, &inner{}
	ctx := func() context.Context {
		_ = rootapi.Hold[*redlatch.Hold](dropped, nil)
		require.NoError(t, rootapi.Hold[*redlatch.Hold](unlocked, nil).Unlock(t.Context()))
		return rootapi.Hold[*redlatch.Hold](carried, nil).Context(t.Context())
	}()
	await := func(i *inner) {
		for deadline := time.Now().Add(20 * time.Second); !i.forgotten.Load(); runtime.GC() {
			require.True(t, time.Now().Before(deadline), "not noticed")
			time.Sleep(time.Millisecond)
		}
	}
	await(dropped)
	require.False(t, unlocked.forgotten.Load())
	require.False(t, carried.forgotten.Load(), "work that still has the context still holds")
	require.NoError(t, ctx.Err())
	ctx = nil
	await(carried)
}

func TestDoRunsWithTheHoldAndGivesItBack(t *testing.T) {
	i := &inner{}
	ran := false
	err := redlatch.Do(t.Context(), locker{inner: i}, func(ctx context.Context) error {
		ran = true
		for carried := range holds.Carried(ctx) {
			require.Same(t, i, carried)
			return nil
		}
		t.Error("the context does not carry the hold")
		return nil
	})
	require.NoError(t, err)
	require.True(t, ran)
	require.EqualValues(t, 1, i.unlocked.Load())
}

func TestDoReturnsTheErrorOfTheWorkAndOfTheRelease(t *testing.T) {
	work, release := errors.New("work"), errors.New("release")
	err := redlatch.Do(t.Context(), locker{inner: &inner{err: release}}, func(context.Context) error { return work })
	require.ErrorIs(t, err, work)
	require.ErrorIs(t, err, release)
	err = redlatch.Do(t.Context(), locker{inner: &inner{err: redlatch.ErrLost}}, func(context.Context) error { return nil })
	require.ErrorIs(t, err, redlatch.ErrLost, "work that succeeded under a lock that was lost did not succeed")
	err = redlatch.Do(t.Context(), locker{inner: &inner{}}, func(context.Context) error { return work })
	require.ErrorIs(t, err, work)
}

func TestDoWithoutTheLockDoesNotRun(t *testing.T) {
	err := redlatch.Do(t.Context(), locker{err: redlatch.ErrNotAcquired}, func(context.Context) error {
		t.Error("ran without the lock")
		return nil
	})
	require.Equal(t, redlatch.ErrNotAcquired, err)
}

func TestDoGivesTheLockBackWhenTheWorkPanicsOrEndsItsGoroutine(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("work") }, "Goexit": runtime.Goexit} {
		i, over := &inner{}, make(chan any)
		go func() {
			defer func() { over <- recover() }()
			_ = redlatch.Do(t.Context(), locker{inner: i}, func(context.Context) error { end(); return nil })
		}()
		if value := <-over; name == "panic" {
			require.Equal(t, "work", value, "the panic goes on")
		}
		require.EqualValues(t, 1, i.unlocked.Load(), name)
	}
}

// wrapped is a lock of the program's own: this package is not of the module by its path.
type wrapped struct{ redlatch.Locker }

func (w wrapped) TryLock(context.Context, ...redlatch.Option) (*redlatch.Hold, error) {
	panic("it is not to be taken")
}

func TestOfAForeignLockNothingIsKnown(t *testing.T) {
	lock := rlock.New(redistest.Mini(t).Client(t), "orders")
	require.NoError(t, lock.Do(t.Context(), func(ctx context.Context) error {
		for _, foreign := range []redlatch.Locker{wrapped{lock}, &wrapped{lock}, nil} {
			_, ok := redlatch.HoldFrom(ctx, foreign)
			require.False(t, ok)
		}
		return nil
	}))
}
