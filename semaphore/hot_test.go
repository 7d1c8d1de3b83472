package semaphore_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

// BenchmarkHot has 64 callers take turns at four permits, in turn with as many who send two bare scripts behind a local queue.
func BenchmarkHot(b *testing.B) {
	for _, processes := range []int{1, 4} {
		for _, on := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d/%v", processes, on), func(b *testing.B) { benchmarkHot(b, processes, on) })
		}
	}
}

func benchmarkHot(b *testing.B, processes int, on bool) {
	const callers, permits = 64, 4
	srv := redistest.Process(b)
	all := make([]*semaphore.Semaphore, processes)
	for i := range all {
		all[i] = semaphore.New(srv.Client(b), "s", redlatch.WithLocalHandOff(on))
	}
	set(b, srv.Client(b), "s", permits)
	client, queue := srv.Client(b), make(chan struct{}, permits)
	bare := redis.NewScript("return redis.call('exists', KEYS[1])")
	turns := func(n int64, turn func(i int) error) ([]int64, time.Duration) {
		var left atomic.Int64
		left.Store(n)
		had, start := make([]int64, callers), time.Now()
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				for left.Add(-1) >= 0 {
					if err := turn(i); err != nil {
						b.Error(err)
						return
					}
					had[i]++
				}
			})
		}
		group.Wait()
		return had, time.Since(start)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ours := func(i int) error { return all[i%processes].Do(ctx, 1, func(context.Context) error { return nil }) }
	floor := func(int) error {
		queue <- struct{}{}
		defer func() { <-queue }()
		if err := bare.Run(ctx, client, []string{"b"}).Err(); err != nil {
			return err
		}
		return bare.Run(ctx, client, []string{"b"}).Err()
	}
	turns(callers, ours)
	turns(callers, floor)
	var had [callers]int64
	var mine, its time.Duration
	scripts, busy := int64(0), int64(0)
	b.ResetTimer()
	for range 3 {
		before, used := srv.CommandStats(b)["evalsha"], microseconds(b, client)
		got, d := turns(int64(b.N), ours)
		scripts += srv.CommandStats(b)["evalsha"] - before
		busy += microseconds(b, client) - used
		for i := range got {
			had[i] += got[i]
		}
		mine += d
		_, d = turns(int64(b.N)/10+1, floor)
		its += 10 * d
	}
	sum, squares := 0.0, 0.0
	for _, n := range had {
		sum, squares = sum+float64(n), squares+float64(n)*float64(n)
	}
	b.ReportMetric(float64(its)/float64(mine), "xfloor")
	b.ReportMetric(sum*sum/squares/callers, "jain")
	b.ReportMetric(float64(scripts)/float64(3*b.N), "scripts/op")
	b.ReportMetric(float64(busy)/float64(3*b.N), "server-us/op")
	require.Equal(b, fmt.Sprint(permits), value(b, client, "s"))
}

func microseconds(b *testing.B, client *redis.Client) (n int64) {
	for _, line := range strings.Split(client.Info(b.Context(), "commandstats").Val(), "\r\n") {
		var calls, usec int64
		if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,usec=%d", &calls, &usec); err == nil {
			return usec
		}
	}
	return 0
}
