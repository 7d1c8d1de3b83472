package semaphore_test

import (
	"context"
	"fmt"
	"github.com/stretchr/testify/require"
	"testing"

	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

// BenchmarkHot has 64 callers take turns at four permits.
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
		all[i] = semaphore.New(srv.Client(b), "s", confirmed(!on))
	}
	set(b, srv.Client(b), "s", permits)
	ours := make([]func(context.Context) error, callers)
	for i := range ours {
		ours[i] = func(ctx context.Context) error {
			return all[i%processes].Do(ctx, 1, func(context.Context) error { return nil })
		}
	}
	redistest.AgainstFloor(b, srv, permits, ours)
	require.Equal(b, fmt.Sprint(permits), value(b, srv.Client(b), "s"))
}

// BenchmarkAlone has one caller.
func BenchmarkAlone(b *testing.B) {
	srv := redistest.Process(b)
	s := semaphore.New(srv.Client(b), "s")
	set(b, srv.Client(b), "s", 4)
	redistest.AgainstFloor(b, srv, 1, []func(context.Context) error{func(ctx context.Context) error {
		return s.Do(ctx, 1, func(context.Context) error { return nil })
	}})
}
