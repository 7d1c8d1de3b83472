package redlatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rlock"
)

// BenchmarkLongTimes shows what an rlock pays for being told of long waits or long holds, none of which comes. Its floor is the same
// lock without the option. With one caller a pair is two commands; with 16 nearly all holds are handed on without one.
func BenchmarkLongTimes(b *testing.B) {
	for name, option := range map[string]redlatch.Option{
		"SlowWait": redlatch.WithSlowWait(time.Hour), "LongHold": redlatch.WithLongHold(time.Hour),
	} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", name, callers), func(b *testing.B) {
				s := newStage(b)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				logger := redlatch.WithLogger(slog.New(slog.DiscardHandler))
				with, without := rlock.New(s.client, s.srv.Key(b, "with"), logger, option), rlock.New(s.client, s.srv.Key(b, "without"), logger)
				if callers > 1 {
					s.block = 2000 // a block begins with everybody asking
				}
				s.compare(b, callers, func(int) { lockPair(ctx, b, with) }, func(int) { lockPair(ctx, b, without) })
			})
		}
	}
}
