package watchdog_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/watchdog"
)

func TestAProcessResumedAfterTrustLosesBeforeItSends(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.renewed())
		resume := w.dog.Suspend()
		w.until(40 * time.Second)
		require.Empty(t, w.sent())
		resume()
		require.Equal(t, []loss{{40 * time.Second, watchdog.Unanswered, nil}}, o.lost())
		w.until(time.Hour)
		require.Empty(t, w.sent())
	})
}

func TestAnAnswerReadAfterResumingPastTrustIsALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(context.Context, int, *call) ([]bool, error) {
			return w.deaf(40*time.Second, all(true, 1), nil)
		}
		w.keep(o, w.renewed())
		w.until(11 * time.Second)
		resume := w.dog.Suspend()
		w.until(41 * time.Second)
		require.Equal(t, []loss{{40 * time.Second, watchdog.Unanswered, nil}}, o.lost())
		require.Equal(t, trust, w.trusted(o))
		resume()
		w.until(time.Hour)
		require.Len(t, o.lost(), 1)
		require.Equal(t, sec(10), w.sent())
	})
}

// The process is stopped between the tick and the send that it leads to.
func TestASendPreparedBeforeTrustEndedIsNotMadeAfterIt(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		o.onBatch = func() { time.Sleep(30 * time.Second) }
		w.keep(o, w.renewed())
		w.until(10 * time.Second)
		resume := w.dog.Suspend()
		w.until(time.Hour)
		resume()
		require.Equal(t, []loss{{40 * time.Second, watchdog.Unanswered, nil}}, o.lost())
		require.Empty(t, w.sent())
	})
}

// What was armed for a later ticket does not fire beside what is armed now, or timers would gather for days.
func TestThereIsOneTimerHoweverOftenItIsSet(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		later, sooner := w.owner(0), w.owner(0)
		w.keep(later, w.renewed())
		w.keep(sooner, watchdog.Terms{Every: every, Margin: margin, Trusted: w.start.Add(every / 2)})
		resume := w.dog.Suspend()
		w.until(2 * every)
		require.Empty(t, w.sent())
		require.Empty(t, sooner.lost())
		resume()
		require.Len(t, sooner.lost(), 1)
		w.forget(later)
	})
}
