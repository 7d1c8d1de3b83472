package observe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/observe"
)

const crowd = 1000

// A crowdOf is that many waits, or holds, each of another name of the stage's client, which tell the stage.
func crowdOf[T any](s *stage, begin func() T) (all []T) {
	for i := range crowd {
		s.name = fmt.Sprint("order ", i)
		all = append(all, begin())
	}
	return all
}

func TestTenSlowNamesAMinuteAreAskedAboutAndTheOthersCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		var brief []redlatch.Event
		counts := redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if e.Kind == redlatch.EventSlowWait && len(e.Holders) == 0 {
				brief = append(brief, e)
			}
		}))
		calls := crowdOf(s, func() *observe.Call { return s.waits(redlatch.WithSlowWait(limit), counts, s.logger()) })
		time.Sleep(limit + 1)
		require.Equal(t, 10, strings.Count(s.lines(), "\n"), "the first come at once")
		require.Equal(t, 10, strings.Count(s.lines(), "a call waits for long"))
		require.Equal(t, 10, s.asks)
		require.Len(t, brief, crowd-10)
		require.ErrorContains(t, brief[0].Err, "Redis was not asked who holds it")
		require.Equal(t, limit, brief[0].Duration)
		for _, call := range calls {
			call.Opened() // that they end takes nothing from what was counted
		}
		time.Sleep(time.Minute - 2)
		require.Equal(t, 10, strings.Count(s.lines(), "\n"))
		time.Sleep(2 * time.Nanosecond)
		require.Equal(t, 11, strings.Count(s.lines(), "\n"))
		require.Contains(t, s.lines(), `msg="redlatch: calls wait for long for further names, which have no line each" names=990 within=1m0s`)
		time.Sleep(time.Hour)
		require.Equal(t, 11, strings.Count(s.lines(), "\n"))

		s.log.Reset() // the next minute begins with the next slow wait
		calls = crowdOf(s, func() *observe.Call { return s.waits(redlatch.WithSlowWait(limit), counts, s.logger()) })
		time.Sleep(time.Hour)
		require.Equal(t, 10, strings.Count(s.lines(), "a call waits for long"))
		require.Equal(t, 1, strings.Count(s.lines(), "names=990"))
		require.Equal(t, 20, s.asks)
		for _, call := range calls {
			call.Opened()
		}
	})
}

// Long holds have a bound of their own, for in an incident the line that names the place is worth the most; so has each client.
func TestTenLongHoldsAMinuteHaveALineAndTheOthersAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		calls := crowdOf(s, func() *observe.Call { return s.waits(redlatch.WithSlowWait(limit), s.logger()) })
		all := crowdOf(s, func() *observe.Hold { return s.holds(redlatch.WithLongHold(limit+1), s.logger(), s.observer()) })
		other := &stage{T: t, name: "order 0", client: s.client + "'", look: s.look}
		elsewhere := other.waits(redlatch.WithSlowWait(limit+2), other.logger())
		time.Sleep(limit + 2)
		require.Equal(t, 10, strings.Count(s.lines(), "a lock is held for long"))
		require.Len(t, s.told, crowd, "the observer is told of each")
		require.Equal(t, 1, strings.Count(other.lines(), "a call waits for long"))
		time.Sleep(time.Hour)
		require.Equal(t, 22, strings.Count(s.lines(), "\n"))
		require.Contains(t, s.lines(), `msg="redlatch: locks of further names are held for long, which have no line each" names=990 within=1m0s`)
		for i := range all {
			calls[i].Opened()
			all[i].End(t.Context(), redlatch.EventReleased, began, nil)
		}
		elsewhere.Opened()
	})
}

// Waits come one after the other, each before the answer to the one before is there. A name is not passed over for a minute
// because of one of which nothing was told, and Redis is not asked without end.
func TestWaitsThatEndBeforeTheAnswerLeaveTheNameToTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		at := s.look
		s.look = func(ctx context.Context) (redlatch.Info, error) { <-ctx.Done(); return at(ctx) }
		hasty := func() {
			call := s.waits(redlatch.WithSlowWait(limit), s.observer(), s.logger())
			time.Sleep(limit + 1)
			call.Opened()
			require.Empty(t, s.lines())
		}
		hasty()
		hasty()
		require.Equal(t, 2, s.asks)
		s.look = at
		call := s.waits(redlatch.WithSlowWait(limit), s.observer(), s.logger())
		time.Sleep(limit + 1)
		call.Opened()
		s.expect("slow_wait 30.000000002s")
		require.Equal(t, "u:7", s.last.Owner)

		s.name = "refunds"
		s.look = func(ctx context.Context) (redlatch.Info, error) { <-ctx.Done(); return at(ctx) }
		for range 100 {
			call := s.waits(redlatch.WithSlowWait(time.Millisecond), s.observer(), s.logger())
			time.Sleep(time.Millisecond + 1)
			call.Opened()
		}
		s.lines()
		require.Equal(t, 10, s.asks)
		require.Len(t, s.told, 2, "the eleventh was told of, without a holder")
		require.Error(t, s.last.Err)
		time.Sleep(time.Minute)
		require.Contains(t, s.lines(), "names=1 within=1m0s\n")
	})
}
