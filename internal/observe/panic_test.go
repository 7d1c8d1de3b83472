package observe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/observe"
)

// A panicker is a log handler, and an observer, that panics.
type panicker struct{ slog.Handler }

func (panicker) Handle(_ context.Context, r slog.Record) error { panic("the handler, at " + r.Message) }
func (panicker) Observe(_ context.Context, e redlatch.Event) {
	panic(fmt.Sprint("the observer, at ", e.Kind))
}
func (panicker) WaitEnd(context.Context, redlatch.Event) {}
func (panicker) WaitStart(ctx context.Context, _ redlatch.Event) context.Context {
	return ctx
}

// stderr is what fn writes to standard error.
func stderr(t *testing.T, fn func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	before := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = before }()
	fn()
	require.NoError(t, file.Close())
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return string(text)
}

// The alarms ring on goroutines of the library, where nobody could recover: a panic there ended the program.
func TestALogHandlerThatPanicsEndsNothingAndIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		broken := redlatch.WithLogger(slog.New(panicker{slog.NewTextHandler(io.Discard, nil)}))
		text := stderr(t, func() {
			calls := crowdOf(s, func() *observe.Call { return s.waits(redlatch.WithSlowWait(limit), broken, s.observer()) })
			hold := s.holds(redlatch.WithLongHold(limit), broken)
			time.Sleep(time.Hour)
			synctest.Wait()
			require.Len(t, s.told, crowd, "the observer is told all the same")
			hold.End(t.Context(), redlatch.EventReleased, began, nil)
			for _, call := range calls {
				call.Refused(errors.New("why"))
			}
		})
		for _, line := range []string{"a call waits for long", "calls wait for long for further names", "a lock is held for long"} {
			require.Contains(t, text, "the handler, at redlatch: "+line)
		}
		require.Contains(t, text, "panic_test.go")
	})
}

func TestAnObserverAndALogHandlerThatPanicEndNothingAndAreSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		before, output, flags := slog.Default(), log.Writer(), log.Flags()
		slog.SetDefault(slog.New(panicker{slog.NewTextHandler(io.Discard, nil)}))
		defer func() {
			slog.SetDefault(before)
			log.SetOutput(output)
			log.SetFlags(flags)
		}()
		for _, logger := range []redlatch.Option{redlatch.WithLogger(slog.Default()), redlatch.WithLogger(nil)} {
			text := stderr(t, func() {
				s.name += "'"
				call := s.waits(redlatch.WithSlowWait(limit), redlatch.WithObserver(panicker{}), logger)
				hold := s.holds(redlatch.WithLongHold(limit), redlatch.WithObserver(panicker{}), logger)
				time.Sleep(time.Minute)
				synctest.Wait()
				hold.Renewed(time.Now(), nil)
				hold.End(t.Context(), redlatch.EventLost, began, nil)
				call.Opened()
			})
			for _, kind := range []string{"slow_wait", "long_hold", "renewed", "lost"} {
				require.Contains(t, text, "the observer, at "+kind)
			}
		}
	})
}

// Each renewal is told on a goroutine of its own, and a hold is renewed for as long as it lasts.
func TestAnObserverThatBlocksKeepsOneGoroutineOfTheRenewals(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		free, told := make(chan struct{}), 0
		hold := s.holds(redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventRenewed {
				told++
				<-free
			}
		})))
		busy := 0
		for range 3 {
			busy++
			go func() {
				hold.Renewed(time.Now(), nil)
				busy--
			}()
			synctest.Wait()
		}
		kept := busy
		close(free)
		synctest.Wait()
		require.Equal(t, 1, kept)
		require.Equal(t, 1, told)
		hold.Renewed(time.Now(), nil)
		require.Equal(t, 2, told, "the next one is told again")
		hold.End(t.Context(), redlatch.EventReleased, began, nil)
	})
}
