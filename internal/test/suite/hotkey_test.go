package suite_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// Goroutines of one process that want the same lock pay a few hundredths of a command a section, or one where each is
// issued a token, not two; and nobody is left out. A machine that is so slow that a run of hand-overs ends after a few of
// them, because its milliseconds are over, pays more.
func TestAHotKeyCostsAtMostAboutOneCommandASection(t *testing.T) {
	srv := redistest.Process(t)
	rdb := srv.Client(t)
	limits := map[string]float64{"rlock": 0.5, "fencedlock": 1.6}
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
			require.Less(t, perSection, limits[name])
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
	before := srv.CommandStats(t)["publish"]
	for range times {
		hold, err := stranger.Lock(t.Context(), redlatch.WithWait(20*time.Second))
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(t.Context()))
	}
	messages := srv.CommandStats(t)["publish"] - before
	t.Logf("%d sections and %.1f messages while the other waited once", sections.Load()/times, float64(messages)/times)
	require.Less(t, messages, int64(20*times), "the lock is free every few milliseconds, and not every race is lost")
}
