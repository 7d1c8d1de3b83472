package load

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == WorkerRole { // started by TestSeveralProcesses...
		if err := Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	redistest.Main(m)
}

// A mutex takes pause and lets one in.
type mutex struct {
	pause time.Duration
	mu    *sync.Mutex
}

func (m mutex) Lock(context.Context) error {
	time.Sleep(m.pause)
	m.mu.Lock()
	return nil
}

func (m mutex) Unlock(context.Context) error {
	m.mu.Unlock()
	return nil
}

// A forgetful handle gives its key to nobody twice.
type forgetful struct{ taken *bool }

func (f forgetful) Lock(ctx context.Context) error {
	if !*f.taken {
		*f.taken = true
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f forgetful) Unlock(context.Context) error { return nil }

func TestABlockCountsByCallerWhatEndedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		callers := NewCallers([]library.Handle{mutex{10 * ms, new(sync.Mutex)}, mutex{40 * ms, new(sync.Mutex)}}, false)
		b, err := callers.Block(60 * ms) // counts from 15 to 75
		require.NoError(t, err)
		require.Equal(t, []int64{6, 1}, b.Shares)
		require.EqualValues(t, 8+2, b.Done) // with one too early, and the last of each too late
		require.Len(t, b.Waits, 8+2)
		require.InDelta(t, 7/0.060, b.PerSecond(), 1e-6)
	})
}

func TestTheWaitsOfLateOnesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 60 * time.Millisecond
		b, err := NewCallers([]library.Handle{mutex{slow, new(sync.Mutex)}}, true).Block(slow / 3)
		require.NoError(t, err)
		require.Equal(t, []int64{0}, b.Shares)
		require.InDelta(t, float64(slow.Microseconds()), b.Wait(0.99), 0)
		require.InDelta(t, 0, b.PerSecond(), 0)
	})
}

func TestACallerWhomNobodyServesIsStuckAndNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken, start := false, time.Now()
		b, err := NewCallers([]library.Handle{forgetful{&taken}}, true).Block(20 * time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, 1, b.Stuck)
		require.Equal(t, 20*time.Millisecond+ramp(20*time.Millisecond)+grace, time.Since(start))
		require.InDelta(t, float64((20*time.Millisecond + grace).Microseconds()), b.Wait(1), 0)
	})
}

// A deaf library takes a key at once for its first handle, and never for another.
type deaf struct{ *sync.Mutex }

func (d deaf) Handle(string) (library.Handle, error) {
	if d.TryLock() {
		return mutex{mu: new(sync.Mutex)}, nil
	}
	taken := true
	return forgetful{&taken}, nil
}

func (d deaf) Close() error { return nil }

func TestAWaiterWhomNobodyWakesIsStuckAndNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := deaf{new(sync.Mutex)}
		l := library.Library{Name: "deaf", Open: func(library.Config) (library.Client, error) { return client, nil }}
		waking, err := NewWaking(l, library.Config{}, "key", false)
		require.NoError(t, err)
		b, err := waking.Block(50 * time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, 1, b.Stuck)
		require.InDelta(t, float64((50*time.Millisecond + grace).Microseconds()), b.Wait(1), 0)
	})
}

func TestAnErrorEndsTheBlock(t *testing.T) {
	_, err := NewCallers([]library.Handle{broken{}}, true).Block(10 * time.Millisecond)
	require.ErrorIs(t, err, errBroken)
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Lock(context.Context) error   { return errBroken }
func (broken) Unlock(context.Context) error { return nil }

func TestMergedBlocksAreOneCrowd(t *testing.T) {
	merged := Merge([]Block{
		{Length: time.Second, Shares: []int64{1, 2}, Waits: []int64{5}, Done: 4, Stuck: 1},
		{Length: time.Second, Shares: []int64{3}, Waits: []int64{6, 7}, Done: 3},
	})
	require.Equal(t, Block{Length: time.Second, Shares: []int64{1, 2, 3}, Waits: []int64{5, 6, 7}, Done: 7, Stuck: 1}, merged)
	require.InDelta(t, 6.0, merged.PerSecond(), 1e-9)
}

func TestSeveralProcessesShareOneKey(t *testing.T) {
	srv := redistest.Process(t)
	for _, name := range []string{"redlatch", library.OneKeyFloor} {
		t.Run(name, func(t *testing.T) {
			crowd, err := NewCrowd(2, Task{
				Library: name, Key: name, Callers: 3,
				Config: library.Config{Addr: srv.Addr, Lease: 30 * time.Second},
			})
			require.NoError(t, err)
			b, err := crowd.Block(300 * time.Millisecond)
			require.NoError(t, err)
			require.Len(t, b.Shares, 6)
			require.Positive(t, b.PerSecond())
			require.Zero(t, b.Stuck)
			require.NoError(t, crowd.Close())
		})
	}
}

func TestAWorkerSaysWhatItCannotOpen(t *testing.T) {
	_, err := NewCrowd(1, Task{Library: "none"})
	require.ErrorContains(t, err, "no library")
}

func TestAWakeUpIsMeasuredBetweenTwoClients(t *testing.T) {
	srv := redistest.Process(t)
	for _, l := range library.All {
		if !l.Contends {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			config := library.Config{Addr: srv.Addr, Lease: 30 * time.Second, Poll: 10 * time.Millisecond}
			waking, err := NewWaking(l, config, l.Name, false)
			require.NoError(t, err)
			begin := time.Now()
			b, err := waking.Block(200 * time.Millisecond)
			took := time.Since(begin)
			require.NoError(t, err)
			require.Positive(t, b.Wait(0.5))
			// A wait is a part of the block, in microseconds. How long it takes is the peer's affair.
			require.Less(t, b.Wait(0.5), float64(took.Microseconds()))
			require.NoError(t, waking.Close())
		})
	}
}
