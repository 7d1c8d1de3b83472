package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

// A trio is three servers on fake time, each with a client that something may be in the way of.
type trio struct {
	*testing.T
	servers [3]*miniredis.Miniredis
	clients [3]*redis.Client
	harm    [3]func() error // instead of a command; nil: nothing
	mu      sync.Mutex      // guards harm where commands are sent meanwhile; see harms
}

// harms sets the harm of a server while waiters may be sending commands.
func (b *trio) harms(i int, harm func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.harm[i] = harm
}

func inBubble(t *testing.T, test func(b *trio)) {
	t.Helper()
	redistest.Bubble(t, func(t *testing.T) {
		b := &trio{T: t}
		for i := range b.servers {
			b.servers[i], _ = redistest.InMemory(t)
			options := redistest.InMemoryOptions(b.servers[i])
			options.Addr = fmt.Sprintf("server-%d", i+1) // else they would pass for one
			b.clients[i] = redis.NewClient(options)
			t.Cleanup(func() { _ = b.clients[i].Close() })
			b.clients[i].AddHook(hook(func() error {
				b.mu.Lock()
				harm := b.harm[i]
				b.mu.Unlock()
				if harm == nil {
					return nil
				}
				return harm()
			}))
		}
		test(b)
	})
}

// hook is one of a client whose commands are not executed if it answers an error.
type hook func() error

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h(); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *trio) lock(opts ...redlatch.Option) *redlock.Lock {
	return redlock.New([]redlatch.Client{b.clients[0], b.clients[1], b.clients[2]}, name, append(opts, briefly.Linger(0))...)
}

// on is the lock on one server, as another process has it.
func (b *trio) on(i int) *redlatch.Hold {
	client := redis.NewClient(redistest.InMemoryOptions(b.servers[i]))
	b.Cleanup(func() { _ = client.Close() })
	hold, err := rlock.New(client, name, briefly.Linger(0)).Lock(b.Context())
	require.NoError(b, err)
	return hold
}

type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func forbidden() error { return refusal("NOPERM this user has no permissions") }

// One server that will never grant it leaves two that may.
func TestLockWaitsWhileAMajorityMayStillGrantIt(t *testing.T) {
	inBubble(t, func(b *trio) {
		b.harm[0] = forbidden
		theirs := b.on(1)
		time.AfterFunc(3*time.Second, func() { _ = theirs.Unlock(context.Background()) })
		hold, err := b.lock().Lock(b.Context(), redlatch.WithWait(time.Minute))
		require.NoError(b, err)
		require.NoError(b, hold.Unlock(b.Context()))

		b.harm[1] = forbidden
		start := time.Now()
		_, err = b.lock().Lock(b.Context(), redlatch.WithWait(time.Minute))
		require.ErrorContains(b, err, "NOPERM")
		require.NotErrorIs(b, err, redlatch.ErrNotAcquired)
		require.Less(b, time.Since(start), time.Second, "nothing to wait for")
	})
}

func TestAnAttemptLeavesHalfOfTheLeaseHoweverLongTheNodeTimeout(t *testing.T) {
	inBubble(t, func(b *trio) {
		for i := range b.harm {
			b.harm[i] = func() error {
				time.Sleep(time.Minute)
				return forbidden()
			}
		}
		start := time.Now()
		_, err := b.lock().TryLock(b.Context(), redlatch.WithLease(200*time.Millisecond), redlock.WithNodeTimeout(time.Hour))
		require.ErrorContains(b, err, "no answer within 100ms")
		require.Less(b, time.Since(start), 200*time.Millisecond)
		time.Sleep(5 * time.Minute) // what was in flight is over
	})
}

func TestTheHolderTriesAgainPastThoseWhoWait(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock()
		hold, err := lock.Lock(b.Context())
		require.NoError(b, err)
		ctx, cancel := context.WithCancel(b.Context())
		waiter := make(chan error, 1)
		go func() {
			_, err := lock.Lock(ctx)
			waiter <- err
		}()
		time.Sleep(time.Second)
		again, err := lock.TryLock(hold.Context(b.Context()))
		cancel()
		require.ErrorIs(b, <-waiter, context.Canceled)
		require.NoError(b, err)
		require.NoError(b, again.Unlock(b.Context()))
		require.NoError(b, hold.Unlock(b.Context()))
	})
}

// Before the loss is noticed otherwise. A fresh hold in its place would have the caller believe it had never lost it.
func TestLockWithTheContextOfAHoldThatIsFoundLostSaysSo(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock()
		hold, err := lock.Lock(b.Context())
		require.NoError(b, err)
		synctest.Wait()
		for _, server := range b.servers {
			server.FlushAll()
		}
		_, err = lock.Lock(hold.Context(b.Context()))
		var loss *redlatch.LossError
		require.ErrorAs(b, err, &loss)
		require.Empty(b, loss.Owner, "the loss of the redlock, not of a member")
		require.ErrorIs(b, hold.Unlock(b.Context()), redlatch.ErrLost)
	})
}

func TestAServerThatDoesNotAnswerIsNotFree(t *testing.T) {
	inBubble(t, func(b *trio) {
		theirs := b.on(0)
		b.harm[1] = forbidden
		locked, err := b.lock().IsLocked(b.Context())
		require.NoError(b, err)
		require.True(b, locked, "nobody else can get two of three")
		require.NoError(b, theirs.Unlock(b.Context()))
		locked, err = b.lock().IsLocked(b.Context())
		require.NoError(b, err)
		require.False(b, locked)
	})
}
