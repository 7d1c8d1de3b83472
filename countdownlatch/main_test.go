package countdownlatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// long is a poll interval or a time limit that no test waits for.
const long = time.Hour

var eventually = redistest.Eventually

// value is the count as the server has it, "" when there is no latch.
func value(t testing.TB, client *redis.Client, key string) string {
	t.Helper()
	v, err := client.Get(context.Background(), key).Result()
	if err != redis.Nil {
		require.NoError(t, err)
	}
	return v
}

// set stores a count, or removes the latch when it is "".
func set(t testing.TB, client *redis.Client, key, count string) {
	t.Helper()
	err := client.Del(context.Background(), key).Err()
	if count != "" {
		err = client.Set(context.Background(), key, count, 0).Err()
	}
	require.NoError(t, err)
}

func subscribers(t testing.TB, client *redis.Client, key string) int64 {
	t.Helper()
	channel := "redisson_countdownlatch__channel__{" + key + "}"
	counts, err := client.PubSubNumSub(context.Background(), channel).Result()
	require.NoError(t, err)
	return counts[channel]
}

var onCall = faultproxy.OnKey

// A rig is a server, a client that reaches it through a proxy, and one that reaches it directly.
type rig struct {
	srv    *redistest.Server
	proxy  *faultproxy.Proxy
	faulty *redis.Client
	direct *redis.Client
}

// newRig's faulty client gives up on a reply after patience. The server knows all scripts already, so that the first
// send of a test is the one that counts.
func newRig(t testing.TB, srv *redistest.Server, patience time.Duration) *rig {
	t.Helper()
	ctx := context.Background()
	l := countdownlatch.New(srv.Client(t), srv.Key(t, "warm"), briefly.Linger(0))
	_, err := l.TrySetCount(ctx, 2)
	require.NoError(t, err)
	require.NoError(t, l.CountDown(ctx))
	_, err = l.Count(ctx)
	require.NoError(t, err)
	_, err = l.Delete(ctx)
	require.NoError(t, err)
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
type settled struct{ n atomic.Int64 }

func (s *settled) option() redlatch.Option {
	return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventSettled {
			s.n.Add(1)
		}
	}))
}

func (s *settled) await(t testing.TB) {
	t.Helper()
	eventually(t, "the operation is settled", func() bool { return s.n.Load() > 0 })
}
