package redlatch_test

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch/rwlock"
)

// BenchmarkReadWrite has one caller take a side that nobody else wants.
func BenchmarkReadWrite(b *testing.B) {
	sides := map[string]func(*rwlock.Lock) *rwlock.Side{"read": (*rwlock.Lock).Reader, "write": (*rwlock.Lock).Writer}
	for name, of := range sides {
		b.Run(name, func(b *testing.B) {
			s := newStage(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			side := of(rwlock.New(s.client, s.srv.Key(b, "own")))
			bare := s.bare(s.srv.Key(b, "bare"))
			s.compare(b, 1, func(int) { lockPair(ctx, b, side) }, func(int) { bare.pair(ctx) })
		})
	}
}
