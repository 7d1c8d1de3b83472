package rlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// BenchmarkProcesses has 200 processes take turns at a lock, for a millisecond each, and counts the scripts of a turn.
func BenchmarkProcesses(b *testing.B) {
	for name, opts := range map[string][]redlatch.Option{"renewed": nil, "leased": {redlatch.WithLease(time.Minute)}} {
		b.Run(name, func(b *testing.B) {
			srv := redistest.Process(b)
			locks := make([]*rlock.Lock, 200)
			for i := range locks {
				locks[i] = rlock.New(srv.Client(b), "lock", opts...)
			}
			turns := func(n int64) {
				var left atomic.Int64
				left.Store(n)
				var all sync.WaitGroup
				for _, l := range locks {
					all.Go(func() {
						for left.Add(-1) >= 0 {
							err := l.Do(b.Context(), func(context.Context) error { time.Sleep(time.Millisecond); return nil })
							if err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
			}
			turns(int64(len(locks))) // all have connected
			before := srv.CommandStats(b)
			b.ResetTimer()
			turns(int64(b.N))
			b.StopTimer()
			b.ReportMetric(float64(srv.CommandStats(b)["evalsha"]-before["evalsha"])/float64(b.N), "scripts/op")
		})
	}
}
