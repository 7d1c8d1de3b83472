package rwlock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	. "github.com/redlatch/redlatch/internal/test/statetest"
)

// What an operation costs the server does not depend on how many readers of ours there are. The server tells how long each
// execution took. Few of them are interrupted even on a busy machine, so their median is not that of the interrupted; and the
// locks are asked in turn, so whatever slows one of them slows all. Run with -v for the figures.
func TestTheCostDoesNotGrowWithTheReaders(t *testing.T) {
	server := redistest.Process(t, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000")
	client := server.Client(t)
	var crowds []*crowd
	for _, readers := range []int{10, 100, 1000, 4000} {
		c := &crowd{t, client, fmt.Sprintf("rw%d", readers), readers}
		c.gather()
		crowds = append(crowds, c)
	}
	spent := map[string]map[int][]time.Duration{}
	const rounds, generous = 21, 4
	for range rounds {
		for _, c := range crowds {
			for _, work := range c.works() {
				if spent[work.name] == nil {
					spent[work.name] = map[int][]time.Duration{}
				}
				spent[work.name][c.readers] = append(spent[work.name][c.readers], c.spend(work.do))
			}
		}
	}
	median := func(of []time.Duration) time.Duration {
		slices.Sort(of)
		return of[len(of)/2]
	}
	for _, work := range crowds[0].works() {
		base := max(median(spent[work.name][crowds[0].readers]), 8*time.Microsecond)
		for _, c := range crowds {
			cost := median(spent[work.name][c.readers])
			t.Logf("%-24s beside %4d readers: %v", work.name, c.readers, cost)
			assert.Less(t, cost, generous*base, "%s beside %d readers", work.name, c.readers)
		}
	}
}

// A crowd is a lock with many readers.
type crowd struct {
	*testing.T
	client  *redis.Client
	key     string
	readers int
}

type work struct {
	name string
	do   func()
}

// reader is one of the readers, which belong to ten processes.
func reader(i int) string { return fmt.Sprintf("b983c153-7421-869a-addb-44fb92259a%02x:%d", i%10, i) }

func (c *crowd) gather() {
	c.Helper()
	for i := range c.readers {
		send(c, rwlock.AcquireRead(c.key, reader(i), time.Hour, ""))
	}
}

func (c *crowd) works() []work {
	owner := u + ":1"
	return []work{
		{"taking and giving back", func() {
			require.True(c, send(c, rwlock.AcquireRead(c.key, owner, time.Hour, "")).Held)
			require.True(c, send(c, rwlock.ReleaseRead(c.key, owner, 1, wake)))
		}},
		{"re-entry", func() { require.True(c, send(c, rwlock.RecountRead(c.key, reader(0), 1, 1, time.Hour))) }},
		{"renewal", func() {
			require.Equal(c, []bool{true}, send(c, renewRead([]rwlock.Renewal{{Key: c.key, Owner: reader(1), Most: 1, Lease: time.Hour}})))
		}},
		{"a try to write", func() { require.False(c, send(c, rwlock.AcquireWrite(c.key, aw, lease, quiet)).Held) }},
		{"an announced writer's try", func() {
			require.False(c, send(c, rwlock.AcquireWrite(c.key, aw, lease, loud)).Held)
			require.True(c, send(c, rwlock.Withdraw(c.key, u, wake)))
		}},
	}
}

func send[R any](c *crowd, command scripts.Command[R]) R {
	c.Helper()
	reply, err := Send(c.Context(), c.client, command)
	require.NoError(c, err)
	return reply
}

// spend is how long the server works for a few executions of do: it tells whole microseconds, and one may take less.
func (c *crowd) spend(do func()) (spent time.Duration) {
	c.Helper()
	require.NoError(c, c.client.SlowLogReset(c.Context()).Err())
	for range 8 {
		do()
	}
	log, err := c.client.SlowLogGet(c.Context(), 100).Result()
	require.NoError(c, err)
	require.GreaterOrEqual(c, len(log), 8)
	for _, entry := range log {
		if strings.EqualFold(entry.Args[0], "evalsha") {
			spent += entry.Duration
		}
	}
	return spent
}
