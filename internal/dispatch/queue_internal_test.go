package dispatch

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/outcome"
)

// When a server hangs, the contexts of all callers may end at the same moment. What one caller's leaving costs must not
// depend on how many others are queued: by a scan of the queue the last of 100 000 callers returned 13.8 s late.
func TestLeavingCostsTheSameHoweverManyAreQueued(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	const block = 500
	// leaving is the median time in which a block of callers leaves a queue from which all leave.
	leaving := func(callers int) time.Duration {
		n := &node{} // may have no leader, as if all of them hung
		requests := make([]*request, callers)
		n.mu.Lock()
		for i := range requests {
			requests[i] = n.request(context.Background(), redis.NewIntCmd(context.Background(), "echo", i))
			n.queue.push(requests[i])
		}
		n.mu.Unlock()
		rand.Shuffle(callers, func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		var took []time.Duration
		for leavers := range slices.Chunk(requests, block) {
			began := time.Now()
			for _, r := range leavers {
				var unsent *outcome.Unsent
				require.ErrorAs(t, n.leave(ended, r), &unsent)
			}
			took = append(took, time.Since(began))
		}
		require.Zero(t, n.queue.length)
		slices.Sort(took)
		return took[len(took)/2]
	}
	var few []time.Duration
	for range 31 {
		few = append(few, leaving(2*block))
	}
	slices.Sort(few)
	many := leaving(128 * block)
	t.Logf("%d of %d callers leave in %v, of %d in %v", block, 2*block, few[len(few)/2], 128*block, many)
	require.Less(t, many, 16*few[len(few)/2], "a scan takes 64 times as long")
}
