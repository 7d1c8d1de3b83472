package suite_test

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// An observer may end its goroutine, as a test that fails does. The renewals of one server leave together.
func TestAnObserverThatEndsItsGoroutineStopsNoRenewal(t *testing.T) {
	t.Parallel()
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		ends := redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventRenewed {
				runtime.Goexit()
			}
		})
		var held []*redlatch.Hold
		for i := range 600 { // six scripts
			lock := rlock.New(client, strconv.Itoa(i), locktest.With(redlatch.WithObserver(ends))...)
			held = append(held, locktest.Take(t, lock, context.Background()))
		}
		time.Sleep(2 * time.Minute)
		for _, h := range held {
			require.True(t, h.Valid(), h)
			require.NoError(t, h.Unlock(context.Background()))
		}
	})
}

// So may a log handler, which is told of the panics of the client's hooks.
func TestALogHandlerThatEndsItsGoroutineStopsNoRenewal(t *testing.T) {
	t.Parallel()
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		told := new(ending)
		var held []*redlatch.Hold
		for i := range 200 { // two scripts
			lock := rlock.New(client, strconv.Itoa(i), locktest.With(redlatch.WithLogger(slog.New(told)))...)
			held = append(held, locktest.Take(t, lock, context.Background()))
		}
		client.AddHook(new(panicking))
		time.Sleep(2 * time.Minute) // three renewals without an answer would stop those that follow
		require.Positive(t, told.times.Load())
		for _, h := range held {
			require.True(t, h.Valid(), h)
			require.NoError(t, h.Unlock(context.Background()))
		}
	})
}

// An ending log handler ends the goroutine that it is called on.
type ending struct{ times atomic.Int64 }

func (e *ending) Enabled(context.Context, slog.Level) bool { return true }
func (e *ending) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e *ending) WithGroup(string) slog.Handler            { return e }

func (e *ending) Handle(context.Context, slog.Record) error {
	e.times.Add(1)
	runtime.Goexit()
	return nil
}

// A panicking hook does so in the first three pipelines.
type panicking struct{ seen atomic.Int64 }

func (p *panicking) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (p *panicking) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (p *panicking) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if p.seen.Add(1) <= 3 {
			panic("a hook of the program")
		}
		return next(ctx, cmds)
	}
}
