package examples_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

// An example promises something about what it prints. A run that goes to its end has to keep it, whatever a run before
// it was doing when it was killed.
type example struct {
	name  string
	keeps func(t *testing.T, said []string, rdb *redis.Client)

	// busy takes what a run that was killed may have left taken, and gives it back. It is nil if nothing is shared
	// between two runs.
	busy func(ctx context.Context, rdb *redis.Client) (free func() error, err error)
}

var examples = []example{
	{
		name: "bank-transfer",
		keeps: func(t *testing.T, said []string, rdb *redis.Client) {
			require.Equal(t, 1, count(said, "the total is 400 as before"))
			total := 0
			for _, balance := range rdb.HVals(t.Context(), "example:accounts").Val() {
				amount, err := strconv.Atoi(balance)
				require.NoError(t, err)
				require.GreaterOrEqual(t, amount, 0)
				total += amount
			}
			require.Equal(t, 400, total)
		},
		busy: func(ctx context.Context, rdb *redis.Client) (func() error, error) {
			return release(rlock.New(rdb, "example:account:1").Lock(ctx))
		},
	},
	{
		name: "config-reload",
		keeps: func(t *testing.T, said []string, rdb *redis.Client) {
			require.Equal(t, 1, count(said, "changed to "))
			require.Equal(t, 20, count(said, "reader "))
			for _, line := range said {
				if strings.HasPrefix(line, "reader ") {
					_, config, _ := strings.Cut(line, ": ")
					host, port, _ := strings.Cut(config, ":")
					require.Equal(t, "host-"+port, host, line)
				}
			}
			port := rdb.Get(t.Context(), "example:port").Val()
			require.Equal(t, "host-"+port, rdb.Get(t.Context(), "example:host").Val())
		},
		busy: func(ctx context.Context, rdb *redis.Client) (func() error, error) {
			return release(rwlock.New(rdb, "example:config").Lock(ctx))
		},
	},
	{
		name: "crawler",
		keeps: func(t *testing.T, said []string, _ *redis.Client) {
			require.Equal(t, 20, count(said, " fetches page "))
			require.Zero(t, count(said, "as one of 4"))
			require.Equal(t, 1, count(said, "all 3 permits are free again"))
		},
		busy: func(ctx context.Context, rdb *redis.Client) (func() error, error) {
			site := permitsemaphore.New(rdb, "example:site:example.org")
			if _, err := site.TrySetPermits(ctx, 3); err != nil {
				return nil, err
			}
			permit, err := site.Acquire(ctx, 3)
			return func() error { return permit.Release(context.Background()) }, err
		},
	},
	{
		name: "leader",
		keeps: func(t *testing.T, said []string, rdb *redis.Client) {
			require.Equal(t, 1, count(said, "and is refused: "))
			require.Equal(t, "written by the second leader", rdb.Get(t.Context(), "{example:leader}:data").Val())
			require.Equal(t, "the data is: written by the second leader", said[len(said)-1])
		},
		busy: func(ctx context.Context, rdb *redis.Client) (func() error, error) {
			hold, err := fencedlock.New(rdb, "{example:leader}").Lock(ctx)
			return func() error { return hold.Unlock(context.Background()) }, err
		},
	},
	{
		name: "nightly-job",
		keeps: func(t *testing.T, said []string, rdb *redis.Client) {
			written := count(said, "the report is there now")
			require.LessOrEqual(t, written, 1)
			require.Equal(t, 5-written, count(said, "is there already"))
			reports, err := rdb.Keys(t.Context(), "example:report:*").Result()
			require.NoError(t, err)
			require.Len(t, reports, 1)
		},
		busy: func(ctx context.Context, rdb *redis.Client) (func() error, error) {
			return release(rlock.New(rdb, "example:nightly-job").Lock(ctx))
		},
	},
	{
		name: "start-barrier",
		keeps: func(t *testing.T, said []string, _ *redis.Client) {
			require.Equal(t, 4, count(before(said, "all are ready"), " is ready"))
			require.Zero(t, count(before(said, "all are ready"), " runs"))
			require.Equal(t, 4, count(before(said, "all are done"), " runs"))
		},
	},
}

func release(hold *redlatch.Hold, err error) (func() error, error) {
	return func() error { return hold.Unlock(context.Background()) }, err
}

func each(t *testing.T, fn func(t *testing.T, e example)) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) { t.Parallel(); fn(t, e) })
	}
}

func TestEachExampleRunsWithNothingButGo(t *testing.T) {
	each(t, func(t *testing.T, e example) { start(t, nil, e.name).finish() })
}

// The promise is kept by the run after a kill -9, however far the killed one had come. Its progress is counted in lines.
func TestEachExampleIsRightAfterAKill(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		srv := redistest.Process(t)
		rdb := srv.Client(t)
		whole := start(t, srv, e.name).finish()
		e.keeps(t, whole, rdb)
		for _, lines := range []int{0, 1, 2, len(whole) / 2, len(whole) - 1} {
			killed := start(t, srv, e.name)
			for range lines {
				killed.next()
			}
			time.Sleep(rand.N(30 * time.Millisecond)) // somewhere behind that line
			killed.kill()
			again := start(t, srv, e.name).finish()
			t.Logf("killed after\n  %s\nthe next run:\n  %s", strings.Join(killed.said, "\n  "), strings.Join(again, "\n  "))
			e.keeps(t, again, rdb)
			if rand.N(2) == 0 { // the next one also begins on an empty server
				require.NoError(t, rdb.FlushAll(t.Context()).Err())
			}
		}
	})
}

// A run that has to wait for what a dead one has left says so, instead of sitting there in silence.
func TestEachExampleSaysWhatItWaitsFor(t *testing.T) {
	each(t, func(t *testing.T, e example) {
		if e.busy == nil {
			return
		}
		srv := redistest.Process(t)
		rdb := srv.Client(t)
		free, err := e.busy(t.Context(), rdb)
		require.NoError(t, err)
		p := start(t, srv, e.name)
		p.until(" waits for ")
		require.NoError(t, free())
		e.keeps(t, p.finish(), rdb)
	})
}

// The latch of a worker that died ends with its TTL, and that is no completed barrier.
func TestABarrierWithADeadWorkerIsNoCompletedOne(t *testing.T) {
	p := start(t, redistest.Process(t), "start-barrier", "-dead", "2", "-limit", "4s")
	for p.next() {
	}
	require.Error(t, p.cmd.Wait())
	require.Zero(t, count(p.said, "all are"), p.said)
	require.Equal(t, 1, count(p.said, "the coordinator waits for 1 of 4 workers to get ready"), p.said)
	require.Equal(t, 1, count(p.said, "not all workers have become ready: redlatch: the latch has expired"), p.said)
}
