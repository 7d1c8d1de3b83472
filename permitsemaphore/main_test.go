package permitsemaphore_test

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

func TestMain(m *testing.M) {
	if os.Getenv(childAddr) != "" {
		child()
		return
	}
	redistest.Main(m)
}

// long is a poll interval or a lease that no test waits for.
const long = time.Hour

// never is the score of a permit without a deadline.
const never = 922337203685477

var eventually = redistest.Eventually

// ended returns the cause of a context that must end.
func ended(t testing.TB, ctx context.Context) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(30 * time.Second):
		t.Fatal("the context did not end within 30 s")
		return nil
	}
}

// state is what the server has: the permits available, "" when there is no semaphore, and the number of those taken.
func state(t testing.TB, client *redis.Client, key string) (string, int64) {
	t.Helper()
	v, err := client.Get(context.Background(), key).Result()
	if err != redis.Nil {
		require.NoError(t, err)
	}
	n, err := client.ZCard(context.Background(), keys.PermitTimeouts(key)).Result()
	require.NoError(t, err)
	return v, n
}

func requireState(t testing.TB, client *redis.Client, key, available string, taken int64) {
	t.Helper()
	v, n := state(t, client, key)
	require.Equal(t, available, v, "available")
	require.Equal(t, taken, n, "taken")
}

// score is the deadline of a permit as the server has it, 0 when it has none.
func score(t testing.TB, client *redis.Client, key, id string) float64 {
	t.Helper()
	raw, err := hex.DecodeString(id)
	require.NoError(t, err)
	s, err := client.ZScore(context.Background(), keys.PermitTimeouts(key), string(raw)).Result()
	if err != redis.Nil {
		require.NoError(t, err)
	}
	return s
}

// fresh is a semaphore with n permits that nobody else uses.
func fresh(t testing.TB, srv *redistest.Server, n int64, opts ...redlatch.Option) (*permitsemaphore.Semaphore, *redis.Client) {
	t.Helper()
	client := srv.Client(t)
	s := permitsemaphore.New(client, srv.Key(t, "s"), append([]redlatch.Option{briefly.Linger(0)}, opts...)...)
	_, err := s.TrySetPermits(context.Background(), n)
	require.NoError(t, err)
	return s, client
}

// acquire takes permits that must be there.
func acquire(t testing.TB, s *permitsemaphore.Semaphore, n int64, opts ...redlatch.Option) *permitsemaphore.Permit {
	t.Helper()
	p, err := s.TryAcquire(context.Background(), n, opts...)
	require.NoError(t, err)
	return p
}

// id is the first of the ids that the permit tells, "" when it tells none.
func id(p *permitsemaphore.Permit) string {
	if ids := p.IDs(); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

var onCall = faultproxy.OnKey

// onFence matches what bars an acquisition: alone of those with a lane it does not touch the permits.
func onFence(key string) func(faultproxy.Command) bool {
	return func(c faultproxy.Command) bool {
		return onCall(key)(c) && c.Args[1] == "2" && c.Args[3] != keys.PermitTimeouts(key)
	}
}

// A rig is a server, a client that reaches it through a proxy, and one that reaches it directly.
type rig struct {
	srv    *redistest.Server
	proxy  *faultproxy.Proxy
	faulty *redis.Client
	direct *redis.Client
}

// patience of the faulty client: long enough for a test to step in before it is over, also on a busy machine. Where
// nobody steps in it is brief: one more send does no harm.
const (
	patience = time.Second
	brief    = 150 * time.Millisecond
)

func newRig(t testing.TB, srv *redistest.Server, patience time.Duration) *rig {
	t.Helper()
	warm(t, srv)
	proxy := faultproxy.New(t, srv.Addr)
	return &rig{srv: srv, proxy: proxy, direct: srv.Client(t), faulty: srv.Client(t, func(o *redis.Options) {
		o.Addr, o.ReadTimeout, o.PoolSize = proxy.Addr(), patience, 64
	})}
}

// semaphore is a semaphore of n permits on a faulty connection.
func (r *rig) semaphore(t testing.TB, n int64, opts ...redlatch.Option) (*permitsemaphore.Semaphore, string) {
	t.Helper()
	key := r.srv.Key(t, "s")
	require.NoError(t, r.direct.Set(context.Background(), key, n, 0).Err())
	return permitsemaphore.New(r.faulty, key, append([]redlatch.Option{briefly.Linger(0)}, opts...)...), key
}

// warm teaches the server the scripts, so that the first send of a test is the one that counts.
func warm(t testing.TB, srv *redistest.Server) {
	t.Helper()
	ctx := context.Background()
	s, _ := fresh(t, srv, 5)
	p := acquire(t, s, 1)
	require.NoError(t, p.UpdateLease(ctx, long))
	require.NoError(t, p.Release(ctx))
	p = acquire(t, s, 1)
	require.NoError(t, s.Release(ctx, id(p)))
	_, err := s.AddPermits(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, s.SetPermits(ctx, 3))
	_, err = s.AvailablePermits(ctx)
	require.NoError(t, err)
	_, err = s.Delete(ctx)
	require.NoError(t, err)
}

// events counts what an observer is told.
type events struct {
	mu  sync.Mutex
	all []redlatch.Event
}

func (e *events) option() redlatch.Option {
	return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, event redlatch.Event) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.all = append(e.all, event)
	}))
}

func (e *events) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = nil
}

func (e *events) count(kind redlatch.EventKind) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.all {
		if event.Kind == kind {
			n++
		}
	}
	return n
}

func (e *events) owners(kind redlatch.EventKind) (owners []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.all {
		if event.Kind == kind {
			owners = append(owners, event.Owner)
		}
	}
	return owners
}

func (e *events) await(t testing.TB, kind redlatch.EventKind, n int) {
	t.Helper()
	eventually(t, string(kind), func() bool { return e.count(kind) >= n })
}

func isLoss(err error) bool { return errors.Is(err, redlatch.ErrLost) }
