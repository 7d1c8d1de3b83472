package rwlock_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	. "github.com/redlatch/redlatch/internal/scripts/statetest"
)

// What an operation costs the server does not depend on how many readers of ours there are. It is told by the server's own
// count of microseconds, of which the least of several rounds is not that of a busy machine. Run with -v for the figures.
func TestTheCostDoesNotGrowWithTheReaders(t *testing.T) {
	server := redistest.Process(t)
	c := &crowd{t, server.Client(t)}
	const generous = 4
	base := map[string]float64{}
	for _, readers := range []int{10, 100, 1000, 4000} {
		c.gather(readers)
		for _, work := range c.works() {
			cost := c.cost(work.do)
			t.Logf("%4d readers, %-24s %6.1f us", readers, work.name+":", cost)
			if readers == 10 {
				base[work.name] = cost
			}
			require.Less(t, cost, generous*base[work.name], "%s beside %d readers", work.name, readers)
		}
	}
}

// A crowd is a lock with many readers.
type crowd struct {
	*testing.T
	client *redis.Client
}

type work struct {
	name string
	do   func()
}

// session is one of the processes to which the readers belong.
func reader(i int) string { return fmt.Sprintf("b983c153-7421-869a-addb-44fb92259a%02x:%d", i%10, i) }

func (c *crowd) gather(readers int) {
	c.Helper()
	require.NoError(c, c.client.FlushAll(c.Context()).Err())
	for i := range readers {
		send(c, rwlock.AcquireRead(key, reader(i), time.Hour, ""))
	}
}

func (c *crowd) works() []work {
	owner := u + ":1"
	return []work{
		{"taking and giving back", func() {
			require.True(c, send(c, rwlock.AcquireRead(key, owner, time.Hour, "")).Held)
			require.True(c, send(c, rwlock.ReleaseRead(key, owner, 1, wake)))
		}},
		{"re-entry", func() { require.True(c, send(c, rwlock.RecountRead(key, reader(0), 1, 1, time.Hour))) }},
		{"renewal", func() {
			require.Equal(c, []bool{true}, send(c, rwlock.RenewRead([]rwlock.Renewal{{Key: key, Owner: reader(1), Most: 1, Lease: time.Hour}})))
		}},
		{"a try to write", func() { require.False(c, send(c, rwlock.AcquireWrite(key, aw, lease, quiet)).Held) }},
		{"an announced writer's try", func() {
			require.False(c, send(c, rwlock.AcquireWrite(key, aw, lease, loud)).Held)
			require.True(c, send(c, rwlock.Withdraw(key, u, wake)))
		}},
	}
}

func send[R any](c *crowd, command scripts.Command[R]) R {
	c.Helper()
	reply, err := Send(c.Context(), c.client, command)
	require.NoError(c, err)
	return reply
}

var evalsha = regexp.MustCompile(`cmdstat_evalsha:calls=\d+,usec=(\d+)`)

// cost is how many microseconds of the server's time one execution of do takes.
func (c *crowd) cost(do func()) float64 {
	c.Helper()
	do() // the server knows the scripts now
	const rounds, times = 5, 40
	least := 0.0
	for range rounds {
		require.NoError(c, c.client.ConfigResetStat(context.Background()).Err())
		for range times {
			do()
		}
		info, err := c.client.Info(c.Context(), "commandstats").Result()
		require.NoError(c, err)
		found := evalsha.FindStringSubmatch(info)
		require.NotNil(c, found, info)
		spent, err := strconv.ParseFloat(found[1], 64)
		require.NoError(c, err)
		if spent /= times; least == 0 || spent < least {
			least = spent
		}
	}
	return least
}
