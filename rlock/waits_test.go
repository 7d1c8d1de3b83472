package rlock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A breaker is a hook of a client that finds no server while it is open.
type breaker struct{ open atomic.Bool }

func (*breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if b.open.Load() {
			cmd.SetErr(&net.OpError{Op: "dial", Err: errors.New("nobody listens")})
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if b.open.Load() {
			return &net.OpError{Op: "dial", Err: errors.New("nobody listens")}
		}
		return next(ctx, cmds)
	}
}

// taken runs test with a lock that another process holds, on a client whose server can be made to vanish.
func taken(t *testing.T, test func(t *testing.T, lock *rlock.Lock, b *breaker)) {
	redistest.Bubble(t, func(t *testing.T) {
		mini, client := redistest.InMemory(t)
		other := redis.NewClient(redistest.InMemoryOptions(mini))
		t.Cleanup(func() { _ = other.Close() })
		hold, err := rlock.New(other, "orders:42", briefly.Linger(0)).Lock(t.Context(), redlatch.WithLease(time.Hour))
		require.NoError(t, err)
		b := &breaker{}
		client.AddHook(b)
		test(t, rlock.New(client, "orders:42", briefly.Linger(0), redlatch.WithOutage(2*time.Second)), b)
		b.open.Store(false)
		time.Sleep(5 * time.Minute) // what the outage has left is settled
		require.NoError(t, hold.Unlock(t.Context()))
		time.Sleep(time.Minute) // workers go
	})
}

// What the waiters were told before the outage says nothing about the lock any more.
func TestATryBehindWaitersSaysDuringAnOutageThatRedisCannotTell(t *testing.T) {
	taken(t, func(t *testing.T, lock *rlock.Lock, b *breaker) {
		ctx, cancel := context.WithCancel(t.Context())
		waiter := make(chan error)
		go func() {
			_, err := lock.Lock(ctx, redlatch.WithOutage(time.Hour))
			waiter <- err
		}()
		time.Sleep(time.Minute)
		_, err := lock.TryLock(ctx)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorContains(t, err, "waited for by others of this process")
		b.open.Store(true)
		time.Sleep(time.Minute) // the waiter asks again within its poll interval
		_, err = lock.TryLock(ctx)
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorContains(t, err, "nobody listens")
		cancel()
		require.ErrorIs(t, <-waiter, context.Canceled)
	})
}

// The waiters behind the head do not ask. They learn from its failure, and not from the refusals before.
func TestTheWaitersBehindAHeadThatFailsAreToldOfTheOutage(t *testing.T) {
	taken(t, func(t *testing.T, lock *rlock.Lock, b *breaker) {
		const waiters = 5
		errs := make(chan error, waiters)
		for range waiters {
			go func() {
				_, err := lock.Lock(t.Context(), redlatch.WithWait(time.Minute))
				errs <- err
			}()
			synctest.Wait()
		}
		time.Sleep(20 * time.Second)
		b.open.Store(true)
		var first time.Time
		for range waiters {
			err := <-errs
			if first.IsZero() {
				first = time.Now()
			}
			require.Less(t, time.Since(first), 2*time.Second, "none of them sits the outage out anew")
			require.ErrorIs(t, err, redlatch.ErrUnavailable)
			require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
			require.ErrorContains(t, err, "nobody listens")
		}
	})
}

// A lockedLog takes lines from several goroutines.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A second Lock with the outer context waits for its own process. The log says so while it waits, and its error afterwards.
func TestAWaitForAHoldOfItsOwnProcessIsLoggedOnceAndExplained(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		var log lockedLog
		lock := rlock.New(client, "orders:42", briefly.Linger(0), redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(5 * time.Second) // before the call waits; only the wait counts
		second := make(chan error)
		go func() {
			_, err := lock.Lock(t.Context(), redlatch.WithWait(time.Minute))
			second <- err
		}()
		time.Sleep(10*time.Second - time.Millisecond)
		synctest.Wait()
		require.Empty(t, log.String())
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		require.Contains(t, log.String(), "level=WARN")
		require.Contains(t, log.String(), "its own process holds")
		require.Contains(t, log.String(), "lock.name=orders:42")
		err = <-second
		require.Equal(t, 1, strings.Count(log.String(), "\n"), "once")
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "is held by this process, for 1m5s by now")
		require.ErrorContains(t, err, "the context of that hold re-enters")
		require.NoError(t, hold.Unlock(t.Context()))
		time.Sleep(time.Minute) // workers go
	})
}
