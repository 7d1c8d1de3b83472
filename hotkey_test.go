package redlatch_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// Goroutines of one process that want the same lock pay one command a section, not two, and nobody is left out. On a
// machine that does little else it is 1.05 or less; one that is so slow that a run of hand-overs ends after a few of
// them, because its ten milliseconds are over, pays more.
func TestAHotKeyCostsAboutOneCommandASection(t *testing.T) {
	srv := redistest.Process(t)
	rdb := srv.Client(t)
	for name, lock := range map[string]redlatch.Locker{"rlock": rlock.New(rdb, "r"), "fencedlock": fencedlock.New(rdb, "f")} {
		t.Run(name, func(t *testing.T) {
			const callers, each = 16, 200
			var (
				wg     sync.WaitGroup
				inside int // guarded by the lock, which the race detector checks
				tokens = map[int64]bool{}
				last   int64
			)
			before := srv.CommandStats(t)
			for range callers {
				wg.Go(func() {
					for range each {
						hold, err := lock.Lock(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						inside++
						if token := hold.Token(); token > 0 {
							if token <= last {
								t.Errorf("token %d after %d", token, last)
							}
							last, tokens[token] = token, true
						}
						if err := hold.Unlock(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			after := srv.CommandStats(t)
			require.Equal(t, callers*each, inside)
			if name == "fencedlock" {
				require.Len(t, tokens, callers*each)
			}
			sent := after["evalsha"] + after["eval"] - before["evalsha"] - before["eval"]
			perSection := float64(sent) / (callers * each)
			t.Logf("%.3f commands a section, %d messages", perSection, after["publish"]-before["publish"])
			require.Less(t, perSection, 1.6)
		})
	}
}

// While the lock goes from hand to hand in one process, another one gets it too.
func TestAHotKeyOfOneProcessDoesNotStarveAnother(t *testing.T) {
	srv := redistest.Process(t)
	rdb := srv.Client(t)
	lock := rlock.New(rdb, "hot")
	var wg sync.WaitGroup
	defer wg.Wait()
	var sections atomic.Int64
	stop := make(chan struct{})
	defer close(stop)
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				hold, err := lock.Lock(t.Context())
				if err != nil {
					return
				}
				sections.Add(1)
				_ = hold.Unlock(t.Context())
			}
		})
	}
	stranger := rlock.New(srv.Client(t), "hot") // a client of its own is as good as a process
	const times = 20
	for range times {
		hold, err := stranger.Lock(t.Context(), redlatch.WithWait(20*time.Second))
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(t.Context()))
	}
	perWait := sections.Load() / times
	t.Logf("%d sections while the other waited once", perWait)
	require.Less(t, perWait, int64(1000), "runs of 64 at most, and not every race is won")
}
