package semaphore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

// BenchmarkHot has 64 callers take turns at four permits. Its floor is 64 callers that send two bare scripts behind a local
// queue; the two are measured by turns.
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
	ours := make([]func(context.Context) error, callers)
	for i := range ours {
		ours[i] = func(ctx context.Context) error {
			return all[i%processes].Do(ctx, 1, func(context.Context) error { return nil })
		}
	}
	floor := slices.Repeat([]func(context.Context) error{func(ctx context.Context) error {
		queue <- struct{}{}
		defer func() { <-queue }()
		if err := bare.Run(ctx, client, []string{"b"}).Err(); err != nil {
			return err
		}
		return bare.Run(ctx, client, []string{"b"}).Err()
	}}, callers)
	turns := func(n int, each []func(context.Context) error) ([]int64, time.Duration) {
		start := time.Now()
		return redistest.TakeTurns(b.Context(), b, n, each), time.Since(start)
	}
	turns(callers, ours)
	turns(callers, floor)
	had := make([]int64, callers)
	var mine, its time.Duration
	scripts, busy := int64(0), int64(0)
	b.ResetTimer()
	for range 3 {
		before, used := srv.Scripts(b), microseconds(b, client)
		got, d := turns(b.N, ours)
		scripts += srv.Scripts(b) - before
		busy += microseconds(b, client) - used
		for i := range got {
			had[i] += got[i]
		}
		mine += d
		_, d = turns(b.N/10+1, floor)
		its += 10 * d
	}
	b.ReportMetric(float64(its)/float64(mine), "xfloor")
	b.ReportMetric(redistest.Evenness(had), "jain")
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
