package suite_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// A page is written by several goroutines.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// below is the place of the line after its caller's.
func below() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("acquired_at=%s:%d", file, line+1)
}

// A program that loses a hold is told in which of its own lines it got it, not in which of the library's.
func TestADroppedHoldIsReportedWithThePlaceWhereItWasAcquired(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	_ = (*holds.Place)(nil).LogValue() // as the report of a hold without a place does: from now on each hold has one
	type option = redlatch.Option
	for name, drop := range map[string]func(ctx context.Context, o option) (place string, err error){
		"rlock": func(ctx context.Context, o option) (place string, err error) {
			place = below()
			_, err = rlock.New(client, "plain", o).Lock(ctx)
			return place, err
		},
		"rlock, TryLock": func(ctx context.Context, o option) (place string, err error) {
			place = below()
			_, err = rlock.New(client, "tried", o).TryLock(ctx)
			return place, err
		},
		"rlock, as a Locker": func(ctx context.Context, o option) (place string, err error) {
			var l redlatch.Locker = rlock.New(client, "locker", o)
			place = below()
			_, err = l.Lock(ctx)
			return place, err
		},
		"spinlock": func(ctx context.Context, o option) (place string, err error) {
			place = below()
			_, err = spinlock.New(client, "spin", o).Lock(ctx)
			return place, err
		},
		"fencedlock": func(ctx context.Context, o option) (place string, err error) {
			place = below()
			_, err = fencedlock.New(client, "fenced", o).Lock(ctx)
			return place, err
		},
		"fairlock": func(ctx context.Context, o option) (place string, err error) {
			place = below()
			_, err = fairlock.New(client, "fair", o).Lock(ctx)
			return place, err
		},
		"reader": func(ctx context.Context, o option) (place string, err error) {
			place = below()
			_, err = rwlock.New(client, "read", o).Reader().Lock(ctx)
			return place, err
		},
		"writer": func(ctx context.Context, o option) (place string, err error) {
			place = below()
			_, err = rwlock.New(client, "write", o).Writer().TryLock(ctx)
			return place, err
		},
		"multilock": func(ctx context.Context, o option) (place string, err error) {
			l := multilock.New([]redlatch.Locker{rlock.New(client, "one"), rlock.New(client, "other")}, o)
			place = below()
			_, err = l.Lock(ctx)
			return place, err
		},
		"group": func(ctx context.Context, o option) (place string, err error) {
			l := multilock.NewGroup(client, "group", []string{"a", "b"}, o)
			place = below()
			_, err = l.Lock(ctx)
			return place, err
		},
		"redlock": func(ctx context.Context, o option) (place string, err error) {
			l := redlock.New([]redlatch.Client{client}, "red", o)
			place = below()
			_, err = l.TryLock(ctx)
			return place, err
		},
		"permits": func(ctx context.Context, o option) (place string, err error) {
			s := permitsemaphore.New(client, "permits", o)
			if _, err := s.TrySetPermits(ctx, 2); err != nil {
				return "", err
			}
			place = below()
			_, err = s.Acquire(ctx, 1)
			return place, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log page
			place, err := drop(t.Context(), redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			require.NoError(t, err)
			reported(t, &log, place)
		})
	}
}

// A hold that another goroutine of the process has handed on has no place at first: finding it would take longer than the
// hand-over. The report of the first one that is dropped, here or in another test, has those after it known.
func TestAHoldThatWasHandedOnIsReportedWithoutItsPlaceOnceAtMost(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	without := 0
	for round := range 4 {
		var log page
		l := rlock.New(client, fmt.Sprint("handed", round), redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		first, err := l.Lock(t.Context())
		require.NoError(t, err)
		waits := make(chan string)
		go func() {
			place := below()
			_, err := l.Lock(context.Background())
			if err != nil {
				place = err.Error()
			}
			waits <- place
		}()
		require.Eventually(t, func() bool {
			info, err := l.Inspect(t.Context())
			return err == nil && info.Waiters == 1
		}, time.Minute, time.Millisecond)
		require.NoError(t, first.Unlock(t.Context()))
		place := <-waits
		reported(t, &log, "")
		if strings.Contains(log.String(), `acquired_at="not noted`) {
			without++
			require.Equal(t, 1, without)
		} else {
			reported(t, &log, place)
		}
	}
}

func reported(t *testing.T, log *page, want string) {
	t.Helper()
	for start := time.Now(); !strings.Contains(log.String(), "dropped"); runtime.GC() {
		require.Less(t, time.Since(start), time.Minute, "nothing was reported")
		time.Sleep(time.Millisecond)
	}
	require.Contains(t, log.String(), "acquired_at=")
	require.Contains(t, log.String(), want+"\n")
}
