package suite_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// The client is the program's, and so are its options. Everything works with those that change how a command travels.
func TestEverythingWorksWhateverTheOptionsOfTheClient(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*redis.Options){
		"RESP2":             func(o *redis.Options) { o.Protocol = 2 },
		"one connection":    func(o *redis.Options) { o.PoolSize, o.PipelinePoolSize, o.MaxActiveConns = 1, -1, 1 },
		"no retries":        func(o *redis.Options) { o.MaxRetries, o.DialerRetries = -1, 1 },
		"context time-outs": func(o *redis.Options) { o.ContextTimeoutEnabled = true },
		"no time-outs":      func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -1, -1 },
		"no deadlines":      func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -2, -2 },
		"short connections": func(o *redis.Options) { o.ConnMaxLifetime, o.ConnMaxIdleTime = time.Millisecond, time.Millisecond },
		"a limiter":         func(o *redis.Options) { o.Limiter = generous{} },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Process(t)
			useAll(t, func() redlatch.Client { return srv.Client(t, change) })
		})
	}
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := redistest.Cluster(t, 3, 1)
		for what, change := range map[string]func(*redis.ClusterOptions){
			"RESP2, by latency":               func(o *redis.ClusterOptions) { o.Protocol, o.RouteByLatency = 2, true },
			"one connection, no redirections": func(o *redis.ClusterOptions) { o.PoolSize, o.MaxRedirects = 1, -1 },
			"no time-outs, at random":         func(o *redis.ClusterOptions) { o.ReadTimeout, o.RouteRandomly = -1, true },
		} {
			t.Run(what, func(t *testing.T) {
				useAll(t, func() redlatch.Client { return cluster.Client(t, change) })
				flush := func(ctx context.Context, master *redis.Client) error { return master.FlushAll(ctx).Err() }
				require.NoError(t, cluster.Client(t).ForEachMaster(t.Context(), flush))
			})
		}
	})
}

// A generous limiter lets everything through.
type generous struct{}

func (generous) Allow() error       { return nil }
func (generous) ReportResult(error) {}
