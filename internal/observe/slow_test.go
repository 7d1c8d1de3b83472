package observe_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

func TestAWaitThatLastsIsToldOfOnceWithTheHolder(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		call := s.waits(redlatch.WithSlowWait(limit), s.observer(), s.logger())
		time.Sleep(limit - 1)
		s.expect()
		time.Sleep(time.Hour)
		s.expect("slow_wait 10s")
		require.Equal(t, "u:7", s.last.Owner)
		require.EqualValues(t, 4, s.last.Token)
		require.Equal(t, []redlatch.HeldBy{{Holder: redlatch.Holder{Owner: "u:7", Token: 4}}}, s.last.Holders)
		require.Equal(t, limit, s.last.Duration)
		require.NoError(t, s.last.Err)
		require.Equal(t, 1, s.asks)
		require.Contains(t, s.lines(), `level=WARN msg="redlatch: a call waits for long" lock.name=orders lock.primitive=lock lock.waited=10s holder.owner=u:7`)
		call.Refused(errors.New("why"))
	})
}

func TestAWaitThatEndsInTimeIsNotToldOfAndAsksNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		for _, end := range []func(*observe.Call){
			func(c *observe.Call) { c.Refused(errors.New("why")) }, (*observe.Call).Opened, (*observe.Call).Left,
			func(c *observe.Call) { c.Acquired(redlatch.Event{}) },
		} {
			call := s.waits(redlatch.WithSlowWait(limit), s.observer(), s.logger())
			time.Sleep(limit - 1)
			end(call)
		}
		time.Sleep(time.Hour)
		s.expect()
		require.Zero(t, s.asks)
		require.Empty(t, s.lines())
	})
}

// Of several waits the first to be slow is told of. Another one is told of a minute later, if it still waits then.
func TestANameIsToldOfOnceAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		var calls []*observe.Call
		twin := &stage{T: t, name: s.name, client: s.client, look: s.look} // as of another lock of that name, or another call of a composite
		for _, of := range []*stage{s, twin} {
			calls = append(calls, of.waits(redlatch.WithSlowWait(limit), s.observer()))
			time.Sleep(time.Second)
		}
		other := &stage{T: t, name: "refunds", client: s.client, look: s.look}
		refund := other.waits(redlatch.WithSlowWait(limit), other.observer())
		time.Sleep(30 * time.Second)
		s.expect("slow_wait 10s")
		other.expect("slow_wait 12s")
		time.Sleep(time.Hour)
		s.expect("slow_wait 10s", "slow_wait 1m10s")
		require.Equal(t, []int{1, 1}, []int{s.asks, twin.asks})
		calls[0].Opened()
		calls[1].Opened()
		refund.Opened()
		again := s.waits(redlatch.WithSlowWait(limit), s.observer())
		time.Sleep(limit)
		s.expect("slow_wait 10s", "slow_wait 1m10s", fmt.Sprint("slow_wait ", time.Since(began)))
		again.Opened()
	})
}

// The answer may name the caller itself then.
func TestAWaitThatEndsBeforeTheAnswerIsNotToldOf(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		s.look = func(ctx context.Context) (redlatch.Info, error) {
			<-ctx.Done()
			return redlatch.Info{Holders: []redlatch.Holder{{Owner: "u:8"}}}, nil
		}
		call := s.waits(redlatch.WithSlowWait(limit), s.observer(), s.logger())
		time.Sleep(limit + time.Millisecond)
		s.expect()
		require.Equal(t, 1, s.asks)
		call.Opened()
		s.expect()
		require.Empty(t, s.lines())
	})
}

func TestAQuestionThatFailsOrHangsIsSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		s.look = func(context.Context) (redlatch.Info, error) { return redlatch.Info{}, errors.New("READONLY") }
		call := s.waits(redlatch.WithSlowWait(limit), s.observer(), s.logger())
		time.Sleep(limit)
		s.expect("slow_wait 10s")
		require.ErrorContains(t, s.last.Err, "could not be asked: READONLY")
		require.Contains(t, s.lines(), `error="it could not be asked: READONLY"`)
		require.NotContains(t, s.lines(), "nobody")
		call.Opened()

		s.name = "hangs"
		s.look = func(ctx context.Context) (redlatch.Info, error) { <-ctx.Done(); return redlatch.Info{}, ctx.Err() }
		call = s.waits(redlatch.WithSlowWait(limit), s.observer())
		time.Sleep(time.Hour)
		s.expect("slow_wait 10s", "slow_wait 21s")
		require.ErrorIs(t, s.last.Err, context.DeadlineExceeded)
		call.Opened()
	})
}

func TestManyHoldersAndThoseOfMembersAreTold(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		many := make([]redlatch.Holder, 20)
		s.look = func(context.Context) (redlatch.Info, error) {
			return redlatch.Info{Members: []redlatch.Member{
				{Info: redlatch.Info{Name: "a", Holders: []redlatch.Holder{{Owner: "u:1"}}}},
				{Info: redlatch.Info{Name: "b"}, Err: errors.New("is down")},
				{Info: redlatch.Info{Name: "c", Holders: many}},
			}}, nil
		}
		call := s.waits(redlatch.WithSlowWait(limit), s.observer(), s.logger())
		time.Sleep(limit)
		s.expect("slow_wait 10s")
		require.Len(t, s.last.Holders, 8)
		require.Equal(t, "a", s.last.Holders[0].Member)
		require.Equal(t, "c", s.last.Holders[7].Member)
		require.ErrorContains(t, s.last.Err, "b could not be asked: is down")
		require.Contains(t, s.lines(), "holder.owner=u:1 holder.member=a others=20 error=")
		call.Opened()
	})
}

func TestWhatNobodyHoldsIsSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		s.look = func(context.Context) (redlatch.Info, error) { return redlatch.Info{}, nil }
		call := s.waits(redlatch.WithSlowWait(limit), s.logger())
		time.Sleep(limit + 1)
		call.Opened()
		require.Contains(t, s.lines(), "holder=nobody")

		set := rootapi.Apply(settings.Defaults(), []redlatch.Option{redlatch.WithSlowWait(limit), s.logger()})
		s.look = func(context.Context) (redlatch.Info, error) { return redlatch.Info{Value: 2}, nil }
		call = observe.Begin(t.Context(), &set, s, "semaphore", "pool", 3)
		time.Sleep(limit + 1)
		call.Opened()
		require.Contains(t, s.lines(), "lock.wanted=3 lock.left=2\n")
	})
}

// The observer may end the wait, which takes the mutex of the alarm; and what it panics with is logged.
func TestAnObserverIsToldWithNoMutexHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		var call atomic.Pointer[observe.Call]
		var ended atomic.Bool
		call.Store(s.waits(redlatch.WithSlowWait(limit), s.logger(), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventSlowWait {
				call.Load().Opened()
				ended.Store(true)
				panic("ouch")
			}
		}))))
		time.Sleep(limit + 1)
		require.True(t, ended.Load())
		require.Equal(t, 1, strings.Count(s.lines(), "an observer has panicked"))
	})
}

func TestWhereNobodyWantsToKnowThereIsNoCall(t *testing.T) {
	s := &stage{T: t, name: "free"}
	for _, opts := range [][]redlatch.Option{
		nil, {s.logger()}, {redlatch.WithSlowWait(limit), redlatch.WithLongHold(limit)}, {s.logger(), redlatch.WithSlowWait(0), redlatch.WithLongHold(0)},
	} {
		set := rootapi.Apply(settings.Defaults(), opts)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if call := observe.Begin(context.Background(), &set, s, "lock", s.name, 0); call != nil {
				t.Error("there is one")
			}
		}))
	}
}
