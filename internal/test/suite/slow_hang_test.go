package suite_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A swamp is a hook that lets no script through while it is there, whatever its context says.
type swamp struct {
	redis.Hook
	mu   sync.Mutex
	open chan struct{} // nil: everything gets through
	in   atomic.Int64
}

func (s *swamp) rise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = make(chan struct{})
}

// fall lets through what comes from now on. What is in the swamp stays there until out is called.
func (s *swamp) fall() (out func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.open
	s.open = nil
	return func() { close(open) }
}

func (s *swamp) pass() {
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	if open != nil {
		s.in.Add(1)
		<-open
	}
}

func (s *swamp) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s *swamp) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { s.pass(); return next(ctx, cmd) }
}

func (s *swamp) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { s.pass(); return next(ctx, cmds) }
}

// The server falls silent right before the holder is looked up. Whoever waits leaves when its context ends, as ever, and the
// question is given up with it, or after a second.
func TestALookUpThatHangsDelaysNobody(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		hold := acquired(t, rlock.New(other, "lock"))
		mud := &swamp{}
		client.AddHook(mud)
		lock := rlock.New(client, "lock", redlatch.WithSlowWait(10*time.Second), redlatch.WithPoll(time.Minute))
		for _, leaves := range []time.Duration{time.Millisecond, 500 * time.Millisecond, 2 * time.Second, time.Minute} {
			var seen slowness
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Second-1, mud.rise)
			time.AfterFunc(10*time.Second+leaves, cancel)
			began := time.Now()
			_, err := lock.Lock(ctx, seen.option())
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, 10*time.Second+leaves, time.Since(began))
			synctest.Wait()
			if leaves < time.Second {
				require.Empty(t, seen.all())
			} else {
				e := seen.one(t)
				require.Equal(t, 11*time.Second, e.Duration)
				require.ErrorIs(t, e.Err, context.DeadlineExceeded)
				require.Empty(t, e.Holders)
			}
			require.Positive(t, mud.in.Swap(0))
			mud.fall()()
			time.Sleep(time.Minute)
		}
		require.NoError(t, hold.Unlock(t.Context()))
		hold = acquired(t, lock)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// Only the look-up hangs. Who waits is woken, takes the lock and gives it back at the very moment.
func TestAWaiterIsServedWhileItsLookUpHangs(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		hold := acquired(t, rlock.New(other, "lock"))
		mud := &swamp{}
		client.AddHook(mud)
		var seen slowness
		lock := rlock.New(client, "lock", redlatch.WithSlowWait(10*time.Second), redlatch.WithPoll(time.Minute), seen.option())
		began := time.Now()
		time.AfterFunc(10*time.Second-1, mud.rise)
		time.AfterFunc(10*time.Second+1, func() { t.Cleanup(mud.fall()) })
		time.AfterFunc(10*time.Second+2, func() { _ = hold.Unlock(context.Background()) })
		own := acquired(t, lock)
		require.Equal(t, 10*time.Second+2, time.Since(began))
		require.NoError(t, own.Unlock(t.Context()))
		require.Equal(t, 10*time.Second+2, time.Since(began))
		require.EqualValues(t, 1, mud.in.Load())
		require.Empty(t, seen.all())
	})
}
