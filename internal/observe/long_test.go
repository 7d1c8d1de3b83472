package observe_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/observe"
)

func TestAHoldThatLastsIsToldOfOnceWithThePlace(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		hold := s.holds(redlatch.WithLongHold(limit), s.observer(), s.logger())
		time.Sleep(limit - 1)
		s.expect()
		time.Sleep(time.Hour)
		s.expect("long_hold 10s")
		require.Equal(t, redlatch.Event{Kind: redlatch.EventLongHold, Primitive: "lock", Name: "orders", Owner: "u:8", Token: 5, Duration: limit}, s.last)
		require.Zero(t, s.asks)
		require.Contains(t, s.lines(), `lock.name=orders lock.primitive=lock lock.owner=u:8 lock.token=5 lock.held=10s acquired_at=`)
		require.Regexp(t, `acquired_at=\S*kit_test.go:\d+\n`, s.lines())
		hold.End(t.Context(), redlatch.EventReleased, began, nil)
	})
}

func TestAHoldThatEndsInTimeIsNotToldOf(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		hold := s.holds(redlatch.WithLongHold(limit), s.observer())
		time.Sleep(limit - 1)
		hold.End(t.Context(), redlatch.EventReleased, began, nil)
		time.Sleep(time.Hour)
		s.expect()
	})
}

// A wait that was slow does not keep a hold of the name from being told of.
func TestHoldsOfANameAreToldOfOnceAMinuteApartFromWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		call := s.waits(redlatch.WithSlowWait(limit), s.observer())
		var all []*observe.Hold
		for range 2 {
			all = append(all, s.holds(redlatch.WithLongHold(limit+1), s.logger(), s.observer()))
		}
		time.Sleep(time.Hour)
		s.expect("slow_wait 10s", "long_hold 10.000000001s", "long_hold 1m10.000000001s")
		call.Opened()
		for _, hold := range all {
			hold.End(t.Context(), redlatch.EventReleased, began, nil)
		}
	})
}

func TestAHoldIsLoggedWithoutAnObserver(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		hold := s.holds(redlatch.WithLongHold(limit), s.logger())
		time.Sleep(limit + 1)
		hold.Renewed(time.Now(), nil)
		hold.End(context.Background(), redlatch.EventReleased, began, nil)
		require.Contains(t, s.lines(), "a lock is held for long")
		require.Nil(t, s.holds(redlatch.WithSlowWait(limit), s.logger()), "nobody is told of the hold")
	})
}
