package permitsemaphore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// BenchmarkHot has callers take turns at four permits, whose ids the program asks for or not.
func BenchmarkHot(b *testing.B) {
	for _, processes := range []int{1, 4} {
		for _, callers := range []int{16, 64} {
			for _, ids := range []string{"unseen", "seen", "off"} {
				b.Run(fmt.Sprintf("%d/%d/%s", processes, callers, ids), func(b *testing.B) { benchmarkHot(b, processes, callers, ids) })
			}
		}
	}
}

func benchmarkHot(b *testing.B, processes, callers int, ids string) {
	const permits = 4
	srv := redistest.Process(b)
	all := make([]*permitsemaphore.Semaphore, processes)
	for i := range all {
		var opts []redlatch.Option
		if ids == "off" {
			opts = append(opts, redlatch.WithoutLocalHandOff())
		}
		all[i] = permitsemaphore.New(srv.Client(b), "s", opts...)
	}
	if _, err := all[0].TrySetPermits(b.Context(), permits); err != nil {
		b.Fatal(err)
	}
	ours := make([]func(context.Context) error, callers)
	for i := range ours {
		ours[i] = func(ctx context.Context) error {
			p, err := all[i%processes].Acquire(ctx, 1)
			if err != nil {
				return err
			}
			if ids == "seen" {
				_ = id(p)
			}
			return p.Release(ctx)
		}
	}
	redistest.AgainstFloor(b, srv, permits, ours)
	requireState(b, srv.Client(b), "s", fmt.Sprint(permits), 0)
}

// BenchmarkAlone has one caller.
func BenchmarkAlone(b *testing.B) {
	srv := redistest.Process(b)
	s := permitsemaphore.New(srv.Client(b), "s")
	if _, err := s.TrySetPermits(b.Context(), 4); err != nil {
		b.Fatal(err)
	}
	redistest.AgainstFloor(b, srv, 1, []func(context.Context) error{func(ctx context.Context) error {
		p, err := s.Acquire(ctx, 1)
		if err != nil {
			return err
		}
		return p.Release(ctx)
	}})
}
