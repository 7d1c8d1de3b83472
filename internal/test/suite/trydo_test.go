package suite_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// doers are every primitive that has a Do, by kind, with what takes all of it, as another process.
func doers(t *testing.T, srv *redistest.Server, opts ...redlatch.Option) map[redlatch.Kind]doer {
	ours, theirs := srv.Client(t), srv.Client(t)
	locks := func(make func(client *redis.Client) redlatch.Locker) doer {
		lock, other := make(ours), make(theirs)
		return doer{
			do: func(ctx context.Context, fn func(context.Context) error, opts ...redlatch.Option) (bool, error) {
				return lock.(interface {
					TryDo(context.Context, func(context.Context) error, ...redlatch.Option) (bool, error)
				}).TryDo(ctx, fn, opts...)
			},
			take: func() func() {
				hold, err := other.Lock(t.Context())
				require.NoError(t, err)
				return func() { require.NoError(t, hold.Unlock(context.Background())) }
			},
			lock: lock,
		}
	}
	all := map[redlatch.Kind]doer{
		redlatch.KindLock:       locks(func(c *redis.Client) redlatch.Locker { return rlock.New(c, "do-lock", opts...) }),
		redlatch.KindFairLock:   locks(func(c *redis.Client) redlatch.Locker { return fairlock.New(c, "do-fair", opts...) }),
		redlatch.KindFencedLock: locks(func(c *redis.Client) redlatch.Locker { return fencedlock.New(c, "do-fenced", opts...) }),
		redlatch.KindSpinLock:   locks(func(c *redis.Client) redlatch.Locker { return spinlock.New(c, "do-spin", opts...) }),
		redlatch.KindWriteLock:  locks(func(c *redis.Client) redlatch.Locker { return rwlock.New(c, "do-rw", opts...) }),
		redlatch.KindMultiLock: locks(func(c *redis.Client) redlatch.Locker {
			return multilock.New([]redlatch.Locker{rlock.New(c, "{do}1"), rlock.New(c, "{do}2")}, opts...)
		}),
		redlatch.KindGroupLock: locks(func(c *redis.Client) redlatch.Locker { return multilock.NewGroup(c, "do", []string{"a", "b"}, opts...) }),
		redlatch.KindRedlock:   locks(func(c *redis.Client) redlatch.Locker { return redlock.New([]redlatch.Client{c}, "do-red", opts...) }),
	}
	pool, permits := semaphore.New(ours, "do-pool", opts...), permitsemaphore.New(ours, "do-permits", opts...)
	_, err := pool.TrySetPermits(t.Context(), 2)
	require.NoError(t, err)
	_, err = permits.TrySetPermits(t.Context(), 2)
	require.NoError(t, err)
	all[redlatch.KindSemaphore] = doer{
		do: func(ctx context.Context, fn func(context.Context) error, opts ...redlatch.Option) (bool, error) {
			return pool.TryDo(ctx, 2, fn, opts...)
		},
		take: func() func() {
			require.NoError(t, pool.Acquire(t.Context(), 1))
			return func() { require.NoError(t, pool.Release(context.Background(), 1)) }
		},
	}
	all[redlatch.KindPermitSemaphore] = doer{
		do: func(ctx context.Context, fn func(context.Context) error, opts ...redlatch.Option) (bool, error) {
			return permits.TryDo(ctx, 2, fn, opts...)
		},
		take: func() func() {
			permit, err := permits.Acquire(t.Context(), 1)
			require.NoError(t, err)
			return func() { require.NoError(t, permit.Release(context.Background())) }
		},
	}
	return all
}

type doer struct {
	do   func(ctx context.Context, fn func(context.Context) error, opts ...redlatch.Option) (ran bool, err error)
	take func() (giveBack func())
	lock redlatch.Locker // nil: it is none
}

func TestTryDoSaysWhetherTheWorkRan(t *testing.T) {
	srv := redistest.Mini(t)
	for kind, d := range doers(t, srv) {
		t.Run(string(kind), func(t *testing.T) {
			work := func(fails error) func(context.Context) error { return func(context.Context) error { return fails } }
			never := func(context.Context) error { t.Error("fn runs without the lock"); return nil }
			ctx := t.Context()

			ran, err := d.do(ctx, work(nil))
			require.True(t, ran)
			require.NoError(t, err)

			inside := errors.Join(redlatch.ErrNotAcquired, io.EOF)
			ran, err = d.do(ctx, work(inside))
			require.True(t, ran, "what fn says is not what became of the lock")
			require.ErrorIs(t, err, io.EOF)

			giveBack := d.take()
			ran, err = d.do(ctx, never)
			require.False(t, ran)
			require.NoError(t, err, "it is busy")
			ran, err = d.do(ctx, never, redlatch.WithWait(0))
			require.False(t, ran)
			require.NoError(t, err)
			ran, err = d.do(ctx, never, redlatch.WithWait(20*time.Millisecond))
			require.False(t, ran)
			require.NoError(t, err)

			over, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			ran, err = d.do(over, never, redlatch.WithWait(time.Hour))
			require.False(t, ran)
			require.ErrorIs(t, err, context.DeadlineExceeded, "the caller has ended the wait, so nobody knows")
			cancel()

			waits := make(chan bool, 1)
			go func() {
				ran, err := d.do(ctx, work(nil), redlatch.WithWait(time.Minute))
				waits <- ran && err == nil
			}()
			giveBack()
			require.True(t, <-waits)
		})
	}
}

func TestTryDoTellsAnOutageFromABusyLock(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	ran, err := redlatch.TryDo(t.Context(), rlock.New(client, "orders", redlatch.WithOutage(time.Millisecond)), func(context.Context) error { return nil })
	require.False(t, ran)
	require.ErrorIs(t, err, redlatch.ErrUnavailable)
}

// What the refusal says, no other command is asked for.
func TestARefusalSaysWhatItKnows(t *testing.T) {
	srv := redistest.Mini(t)
	for kind, d := range doers(t, srv) {
		t.Run(string(kind), func(t *testing.T) {
			giveBack := d.take()
			defer giveBack()
			if d.lock == nil {
				return // see below
			}
			_, err := d.lock.TryLock(t.Context())
			tried := refusal(t, err)
			require.Equal(t, d.lock.Name(), tried.Name)
			require.Equal(t, kind, tried.Kind)
			require.Zero(t, tried.Waited)
			if kind == redlatch.KindFairLock {
				require.Zero(t, tried.Left, "others may wait for it")
			} else {
				require.Greater(t, tried.Left, 20*time.Second)
				require.LessOrEqual(t, tried.Left, 30*time.Second)
			}
			// On a busy machine a short wait can be over before there was an answer, or before the call has begun to wait.
			for wait := 50 * time.Millisecond; ; wait *= 2 {
				_, err = d.lock.Lock(t.Context(), redlatch.WithWait(wait))
				e, is := errors.AsType[*redlatch.NotAcquiredError](err)
				if is && e.Waited > 0 || wait > 10*time.Second {
					break
				}
			}
			ended := refusal(t, err)
			require.Equal(t, d.lock.Name(), ended.Name)
			require.Equal(t, kind, ended.Kind)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, ended, context.DeadlineExceeded)
			require.Contains(t, err.Error(), d.lock.Name())
			require.Positive(t, ended.Waited)
		})
	}
}

func TestARefusalOfPermitsSaysHowManyThereAre(t *testing.T) {
	srv := redistest.Mini(t)
	pool, permits := semaphore.New(srv.Client(t), "want"), permitsemaphore.New(srv.Client(t), "want-ids")
	ctx := t.Context()
	_, err := pool.TrySetPermits(ctx, 3)
	require.NoError(t, err)
	_, err = permits.TrySetPermits(ctx, 3)
	require.NoError(t, err)
	require.NoError(t, pool.Acquire(ctx, 2))
	_, err = permits.Acquire(ctx, 2)
	require.NoError(t, err)
	for kind, ask := range map[redlatch.Kind]func(opts ...redlatch.Option) error{
		redlatch.KindSemaphore:       func(opts ...redlatch.Option) error { return pool.Acquire(ctx, 2, opts...) },
		redlatch.KindPermitSemaphore: func(opts ...redlatch.Option) error { _, err := permits.Acquire(ctx, 2, opts...); return err },
	} {
		for _, wait := range []time.Duration{0, time.Second} {
			e := refusal(t, ask(redlatch.WithWait(wait)))
			require.Equal(t, kind, e.Kind)
			have := map[redlatch.Kind]int64{redlatch.KindSemaphore: 1} // the answer to a request of permits with ids does not count them
			require.Equal(t, []int64{2, have[kind]}, []int64{e.Want, e.Have}, "%s %v", kind, wait)
			require.Equal(t, wait > 0, e.Waited > 0)
			require.Equal(t, wait > 0, e.Cause != nil)
		}
	}
}

func refusal(t *testing.T, err error) *redlatch.NotAcquiredError {
	t.Helper()
	require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	e, ok := errors.AsType[*redlatch.NotAcquiredError](err)
	require.True(t, ok, "%v", err)
	return e
}
