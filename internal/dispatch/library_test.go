package dispatch_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
)

// The client library fills in what a program leaves out, and Options shows it filled in. A version that showed zeros would
// have every release handed to a worker, and the fewest leaders whatever the pool.
func TestTheClientLibraryShowsItsDefaults(t *testing.T) {
	one := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = one.Close() }()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer func() { _ = cluster.Close() }()
	require.Positive(t, one.Options().PoolSize)
	require.Positive(t, dispatch.New(one, nil, linger(0)).ReadTimeout())
	require.Positive(t, dispatch.New(cluster, cluster, linger(0)).ReadTimeout())

	never := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ReadTimeout: -1})
	defer func() { _ = never.Close() }()
	require.Zero(t, dispatch.New(never, nil, linger(0)).ReadTimeout(), "it waits for ever")
	short := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ReadTimeout: time.Second})
	defer func() { _ = short.Close() }()
	require.Equal(t, time.Second, dispatch.New(short, nil, linger(0)).ReadTimeout())
}
