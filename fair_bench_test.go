package redlatch_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// BenchmarkFairAlone compares a pair of Lock and Unlock of an uncontended fair lock with two bare commands.
func BenchmarkFairAlone(b *testing.B) {
	s := newStage(b)
	lock := fairlock.New(s.client, s.srv.Key(b, "own"))
	bare := s.bare(s.srv.Key(b, "bare"))
	ctx := b.Context()
	s.compare(b, 1, func(int) { lockPair(ctx, b, lock) }, func(int) { bare.pair(ctx) })
}

// A fair lock that many want at once, from ten clients: what a turn costs the server, in microseconds of its time.
//
//	go test -run '^$' -bench FairCrowd -benchtime 2000x .
func BenchmarkFairCrowd(b *testing.B) {
	for _, callers := range []int{10, 100, 1000, 4000} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			srv := redistest.Process(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var locks []*fairlock.Lock
			for range 10 {
				locks = append(locks, fairlock.New(srv.Client(b), "f"))
			}
			first, err := locks[0].Lock(ctx)
			require.NoError(b, err)
			var (
				all    sync.WaitGroup
				served atomic.Int64
				over   = make(chan struct{})
			)
			for n := range callers {
				all.Go(func() {
					for {
						hold, err := locks[n%len(locks)].Lock(ctx)
						if err != nil {
							return
						}
						turn := served.Add(1)
						if turn == int64(b.N) {
							close(over)
						}
						if hold.Unlock(context.Background()) != nil || turn >= int64(b.N) {
							return
						}
					}
				})
			}
			client := srv.Client(b)
			redistest.Eventually(b, "everybody to wait", func() bool {
				return client.LLen(b.Context(), keys.FairQueue("f")).Val() == int64(callers)
			})
			spent := func() (us, calls float64) {
				text := client.Info(b.Context(), "commandstats").Val()
				for _, found := range spentOnScripts.FindAllStringSubmatch(text, -1) {
					n, _ := strconv.ParseFloat(found[1], 64)
					t, _ := strconv.ParseFloat(found[2], 64)
					us, calls = us+t, calls+n
				}
				return us, calls
			}
			us, calls := spent()
			b.ResetTimer()
			require.NoError(b, first.Unlock(ctx))
			<-over
			b.StopTimer()
			moreUs, moreCalls := spent()
			b.ReportMetric((moreUs-us)/float64(b.N), "server-us/turn")
			b.ReportMetric((moreCalls-calls)/float64(b.N), "scripts/turn")
			cancel()
			all.Wait()
		})
	}
}

var spentOnScripts = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)`)
