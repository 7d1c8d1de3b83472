package semaphore_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// long is a poll interval or a time limit that no test waits for.
const long = time.Hour

var eventually = redistest.Eventually

// value is the permits as the server has them, "" when there is no semaphore.
func value(t testing.TB, client *redis.Client, key string) string {
	t.Helper()
	v, err := client.Get(context.Background(), key).Result()
	if err != redis.Nil {
		require.NoError(t, err)
	}
	return v
}

func set(t testing.TB, client *redis.Client, key string, permits int64) {
	t.Helper()
	require.NoError(t, client.Set(context.Background(), key, permits, 0).Err())
}

var onCall = faultproxy.OnKey

// warm teaches the server all scripts, so that the first send of a test is the one that counts.
func warm(t testing.TB, srv *redistest.Server) {
	t.Helper()
	ctx := context.Background()
	s := semaphore.New(srv.Client(t), srv.Key(t, "warm"), briefly.Linger(0))
	_, err := s.TrySetPermits(ctx, 2)
	require.NoError(t, err)
	require.NoError(t, s.Acquire(ctx, 1))
	require.NoError(t, s.Release(ctx, 1))
	_, err = s.ReleaseIfExists(ctx, 1)
	require.NoError(t, err)
	_, err = s.AddPermits(ctx, 1)
	require.NoError(t, err)
	_, err = s.DrainPermits(ctx)
	require.NoError(t, err)
	_, err = s.AvailablePermits(ctx)
	require.NoError(t, err)
	_, err = s.Expire(ctx, time.Minute)
	require.NoError(t, err)
	_, err = s.Persist(ctx)
	require.NoError(t, err)
	_, err = s.Delete(ctx)
	require.NoError(t, err)
}

// A rig is a server, a client that reaches it through a proxy, and one that reaches it directly.
type rig struct {
	srv    *redistest.Server
	proxy  *faultproxy.Proxy
	faulty *redis.Client
	direct *redis.Client
}

// newRig's faulty client gives up on a reply after patience, so that a lost one does not cost three seconds.
func newRig(t testing.TB, srv *redistest.Server, patience time.Duration) *rig {
	t.Helper()
	warm(t, srv)
	proxy := faultproxy.New(t, srv.Addr)
	r := &rig{srv: srv, proxy: proxy, direct: srv.Client(t)}
	r.faulty = r.another(t, patience)
	return r
}

// another is one more client like the faulty one: of one client only so many commands are under way at a time, and a
// test that has its own held must not keep others from sending theirs.
func (r *rig) another(t testing.TB, patience time.Duration) *redis.Client {
	t.Helper()
	return r.srv.Client(t, func(o *redis.Options) {
		o.Addr = r.proxy.Addr()
		o.ReadTimeout = patience
		o.PoolSize = 64
	})
}

// settled counts what was settled in the background.
type settled struct {
	mu     sync.Mutex
	events []redlatch.Event
}

func (s *settled) option() redlatch.Option {
	return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventSettled {
			s.mu.Lock()
			s.events = append(s.events, e)
			s.mu.Unlock()
		}
	}))
}

func (s *settled) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

func (s *settled) await(t testing.TB, n int) {
	t.Helper()
	eventually(t, strconv.Itoa(n)+" operations are settled", func() bool { return s.count() >= n })
}

// lanesOf are the private keys beside the semaphore.
func lanesOf(t testing.TB, srv *redistest.Server, key string) []string {
	t.Helper()
	var lanes []string
	for _, k := range srv.Keys(t) {
		if strings.HasPrefix(k, "redlatch_lanes:{"+key+"}:") {
			lanes = append(lanes, k)
		}
	}
	return lanes
}

// subscribers is how many connections listen for permits.
func subscribers(t testing.TB, client *redis.Client, key string) int64 {
	t.Helper()
	channel := "redisson_sc:{" + key + "}"
	counts, err := client.PubSubNumSub(context.Background(), channel).Result()
	require.NoError(t, err)
	return counts[channel]
}
