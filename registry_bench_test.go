package redlatch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redlatch/redlatch/rlock"
)

// BenchmarkRegistry shows what an rlock pays for the registry where everything is given back within a second. Its floor is the same lock in
// a client that is not listed. With one caller a pair is two commands; with 16 nearly all holds are handed on without one.
func BenchmarkRegistry(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := newStage(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.Setenv("REDLATCH_REGISTRY", "on")
			with := rlock.New(s.client, s.srv.Key(b, "with"))
			lockPair(ctx, b, with) // the variable is read when a client is first used
			b.Setenv("REDLATCH_REGISTRY", "off")
			without := rlock.New(s.srv.Client(b), s.srv.Key(b, "without"))
			lockPair(ctx, b, without)
			if callers > 1 {
				s.block = 2000 // a block begins with everybody asking
			}
			s.compare(b, callers, func(int) { lockPair(ctx, b, with) }, func(int) { lockPair(ctx, b, without) })
		})
	}
}
