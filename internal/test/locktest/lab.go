package locktest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// patience bounds every wait on a real clock. Nothing is asserted about how much of it was used.
const patience = 30 * time.Second

// A lab is what one case works with: a server, a client, and a name of its own.
type lab struct {
	*testing.T
	make   Make
	has    Features
	client *redis.Client
	name   string
	ctx    context.Context // can be cancelled, and is with the case

	srv  *redistest.Server    // nil on fake time
	mini *miniredis.Miniredis // on fake time

	mu    sync.Mutex
	holds []*redlatch.Hold
	gauge gauge
}

func newLab(t *testing.T, make Make, features Features, client *redis.Client) *lab {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lab{T: t, make: make, has: features, client: client, name: "lock", ctx: ctx}
	t.Cleanup(func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, h := range l.holds { // of a case that failed
			_ = h.Unlock(ctx)
		}
	})
	return l
}

// lock makes the lock under test, a new value each time.
func (l *lab) lock(opts ...redlatch.Option) redlatch.Locker {
	return l.named(l.name, opts...)
}

func (l *lab) named(name string, opts ...redlatch.Option) redlatch.Locker {
	l.Helper()
	return l.keeping(l.make(l, l.client, name, l.with(opts)...))
}

// with are the options of a lock of the lab: every one has the gauge, unless the case has an observer of its own.
func (l *lab) with(opts []redlatch.Option) []redlatch.Option {
	return append(With(l.gauge.option()), opts...)
}

// keeping has the lab keep every hold of lock. On fake time none may be left to the garbage collector, also not by a
// case that fails: the collector lives outside of the bubble, and the runtime ends the process for what it touches.
func (l *lab) keeping(lock redlatch.Locker) redlatch.Locker {
	if l.mini == nil {
		return lock
	}
	return keeper{lock, l}
}

type keeper struct {
	redlatch.Locker
	lab *lab
}

func (k keeper) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return k.kept(k.Locker.Lock(ctx, opts...))
}

func (k keeper) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return k.kept(k.Locker.TryLock(ctx, opts...))
}

func (k keeper) kept(hold *redlatch.Hold, err error) (*redlatch.Hold, error) {
	if hold != nil {
		k.lab.keep(hold)
	}
	return hold, err
}

// forceUnlock frees the lock itself, without what the lab put around it.
func (l *lab) forceUnlock(lock redlatch.Locker) (bool, error) {
	if k, ok := lock.(keeper); ok {
		lock = k.Locker
	}
	return l.has.ForceUnlock(l.ctx, lock)
}

// stranger makes a lock of another process that excludes the one under test.
func (l *lab) stranger(opts ...redlatch.Option) redlatch.Locker {
	l.Helper()
	return l.keeping(l.has.Blocker(l, l.second(), l.name, l.with(opts)...))
}

// second is a client of another process.
func (l *lab) second() *redis.Client {
	l.Helper()
	if l.srv != nil {
		return l.srv.Client(l)
	}
	client := redis.NewClient(redistest.InMemoryOptions(l.mini))
	l.Cleanup(func() { _ = client.Close() })
	return client
}

// take acquires, and gives back at the end of the case what the case has not.
func (l *lab) take(lock redlatch.Locker, ctx context.Context, opts ...redlatch.Option) *redlatch.Hold {
	l.Helper()
	return l.keep(Take(l, lock, ctx, opts...))
}

func (l *lab) keep(hold *redlatch.Hold) *redlatch.Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = append(l.holds, hold)
	return hold
}

func (l *lab) give(holds ...*redlatch.Hold) {
	l.Helper()
	for _, h := range holds {
		require.NoError(l, h.Unlock(l.ctx))
	}
}

// finish gives back what the case has not, and looks for what should not be there.
func (l *lab) finish() {
	l.Helper()
	defer l.gauge.check(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.holds {
		if err := h.Unlock(l.ctx); err != nil && !errors.Is(err, redlatch.ErrReleased) && !errors.Is(err, redlatch.ErrLost) {
			l.Errorf("give back at the end of the case: %v", err)
		}
	}
	l.eventually("no key is left behind", func() bool { return len(l.left(l.name)) == 0 })
}

// left are the keys that name left on the server and that do not belong there.
func (l *lab) left(name string) []string {
	l.Helper()
	return slices.DeleteFunc(l.keys(), func(key string) bool {
		return !strings.Contains(key, name) || l.has.Stays(key)
	})
}

func (l *lab) keys() []string {
	l.Helper()
	keys, err := l.client.Keys(context.Background(), "*").Result()
	require.NoError(l, err)
	return keys
}

// lose takes the lock away behind its holder's back, and sends no message.
func (l *lab) lose() {
	l.Helper()
	if l.has.Lose != nil {
		l.has.Lose(l, l.name)
		return
	}
	n, err := l.client.Del(context.Background(), l.has.Keys(l.name)...).Result()
	require.NoError(l, err)
	require.NotZero(l, n, "there was a lock to take away")
}

// ttl is how long the lock lasts, by the time to live of its first key.
func (l *lab) ttl() time.Duration {
	l.Helper()
	if l.has.TTL != nil {
		return l.has.TTL(l, l.name)
	}
	ttl, err := l.client.PTTL(context.Background(), l.has.Keys(l.name)[0]).Result()
	require.NoError(l, err)
	if ttl > 0 {
		ttl -= l.has.Beyond
	}
	return ttl
}

// refused requires that the lock cannot be had now.
func (l *lab) refused(lock redlatch.Locker, ctx context.Context) {
	l.Helper()
	Refused(l, lock, ctx)
}

// isFree requires that the lock can be had now.
func (l *lab) isFree(lock redlatch.Locker) {
	l.Helper()
	hold, err := lock.TryLock(l.ctx)
	require.NoError(l, err)
	require.NoError(l, hold.Unlock(l.ctx))
}

func (l *lab) eventually(what string, holds func() bool) {
	l.Helper()
	redistest.Eventually(l, what, holds)
}

// await receives from a channel.
func await[T any](l *lab, what string, from <-chan T) T {
	l.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		l.Fatalf("never came: %s", what)
		panic("unreachable")
	}
}

// background runs fn on a goroutine of its own and gives what it returns.
func background[T any](fn func() T) <-chan T {
	result := make(chan T, 1)
	go func() { result <- fn() }()
	return result
}

// A grant is the outcome of a Lock.
type grant struct {
	hold *redlatch.Hold
	err  error
	at   time.Time
}

// asks calls Lock in the background.
func (l *lab) asks(lock redlatch.Locker, ctx context.Context, opts ...redlatch.Option) <-chan grant {
	return background(func() grant {
		hold, err := lock.Lock(ctx, opts...)
		if hold != nil {
			l.keep(hold)
		}
		return grant{hold, err, time.Now()}
	})
}
