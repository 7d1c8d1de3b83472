package permitsemaphore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// inLine returns when that many of the client's process wait in line.
func inLine(t testing.TB, client *redis.Client, key string, n int) {
	t.Helper()
	set := settings.Defaults()
	waiters := func() int {
		return session.Of(client, &set).Waiters(cohort.KeyFor(key, "permit_semaphore"))
	}
	eventually(t, fmt.Sprint(n, " wait"), func() bool { return waiters() == n })
}

// queue has calls of Acquire wait for a permit each, in their order. Each attempt has been executed when it
// returns.
func queue(t testing.TB, srv *redistest.Server, ctxs []context.Context, s *permitsemaphore.Semaphore, client *redis.Client, leases ...redlatch.Option) (all []<-chan result) {
	t.Helper()
	for i, lease := range leases {
		ctx := t.Context()
		if i < len(ctxs) {
			ctx = ctxs[i]
		}
		all = append(all, acquiring(ctx, s, 1, lease))
		inLine(t, client, s.Name(), i+1)
		if i == 0 {
			direct := srv.Client(t)
			eventually(t, "it has asked once more when it was subscribed", func() bool { // which may take two sends
				return direct.ZCard(t.Context(), keys.SemaphoreRow(s.Name())).Val() == 1
			})
		}
	}
	return all
}

// raise makes permits and tells everybody, which is no script of ours.
func raise(t testing.TB, client *redis.Client, key string, n int64) {
	t.Helper()
	require.NoError(t, client.IncrBy(t.Context(), key, n).Err())
	require.NoError(t, client.Publish(t.Context(), "redisson_sc:{"+key+"}", n).Err())
}

func TestEachWaiterOfARaiseGetsAPermitWithTheLeaseThatItAskedFor(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		warm(t, srv)
		s, client := fresh(t, srv, 0, redlatch.WithPoll(long))
		begin := time.Now()
		all := queue(t, srv, nil, s, client, redlatch.WithLease(time.Hour), permitsemaphore.WithoutExpiry(), redlatch.WithLease(2*time.Hour), nil)
		raise(t, client, s.Name(), 5)
		var permits []*permitsemaphore.Permit
		ids := map[string]bool{}
		for _, w := range all {
			p := receive(t, w)
			permits, ids[id(p)] = append(permits, p), true
		}
		require.Len(t, ids, 4)
		requireState(t, client, s.Name(), "1", 4)
		for i, lease := range map[int]time.Duration{0: time.Hour, 2: 2 * time.Hour, 3: settings.DefaultWatchdogTimeout} {
			end := score(t, client, s.Name(), id(permits[i]))
			require.GreaterOrEqual(t, end, float64(begin.Add(lease).UnixMilli()), i)
			require.LessOrEqual(t, end, float64(time.Now().Add(lease).UnixMilli()+1), i)
			require.LessOrEqual(t, float64(permits[i].Until().UnixMilli()), end, "trusted for longer than the lease")
		}
		require.EqualValues(t, never, score(t, client, s.Name(), id(permits[1])))
		for _, p := range permits {
			require.True(t, p.Valid())
			require.NoError(t, p.Release(t.Context()))
		}
		requireState(t, client, s.Name(), "5", 0)
	})
}
