package redistest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// AgainstFloor measures the turns of callers at so many permits against its floor: as many callers that send two bare scripts
// behind a local queue. The two take turns. It reports how many times the floor that is, the Evenness, and what a turn costs.
func AgainstFloor(b *testing.B, srv *Server, permits int, callers []func(ctx context.Context) error) {
	client, queue := srv.Client(b), make(chan struct{}, permits)
	bare := redis.NewScript("return redis.call('exists', KEYS[1])")
	floor := slices.Repeat([]func(context.Context) error{func(ctx context.Context) error {
		queue <- struct{}{}
		defer func() { <-queue }()
		if err := bare.Run(ctx, client, []string{"b"}).Err(); err != nil {
			return err
		}
		return bare.Run(ctx, client, []string{"b"}).Err()
	}}, len(callers))
	turns := func(n int, each []func(context.Context) error) ([]int64, time.Duration) {
		start := time.Now()
		return TakeTurns(b.Context(), b, n, each), time.Since(start)
	}
	turns(len(callers), callers)
	turns(len(callers), floor)
	had := make([]int64, len(callers))
	var mine, its time.Duration
	scripts, busy := int64(0), int64(0)
	b.ResetTimer()
	for range 3 {
		before, used := srv.Scripts(b), microseconds(b, client)
		got, d := turns(b.N, callers)
		scripts += srv.Scripts(b) - before
		busy += microseconds(b, client) - used
		for i := range got {
			had[i] += got[i]
		}
		mine += d
		_, d = turns(b.N/4+1, floor)
		its += 4 * d
	}
	b.ReportMetric(float64(its)/float64(mine), "xfloor")
	b.ReportMetric(Evenness(had), "jain")
	b.ReportMetric(float64(scripts)/float64(3*b.N), "scripts/op")
	b.ReportMetric(float64(busy)/float64(3*b.N), "server-us/op")
}

// microseconds is what the server has spent on scripts.
func microseconds(b *testing.B, client *redis.Client) (n int64) {
	for _, line := range strings.Split(client.Info(b.Context(), "commandstats").Val(), "\r\n") {
		var calls, usec int64
		if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,usec=%d", &calls, &usec); err == nil {
			return usec
		}
	}
	return 0
}
