package cohort_test

import (
	"context"
	"errors"
	"math/rand"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A world is a counter that many waiters want, with a ledger of what the queue owes them.
type world struct {
	l *cohort.Queue

	mu        sync.Mutex
	random    *rand.Rand
	units     int
	attempts  int // under way
	wake      int // number of the latest wake-up
	looked    int // number of the latest wake-up when the latest attempt began
	overlap   bool
	given     int
	got       int
	cancelled []context.CancelFunc
}

func (w *world) chance(percent int) bool { return w.random.Intn(100) < percent }

func (w *world) attempt(ctx context.Context) (cohort.Verdict, error) {
	w.mu.Lock()
	w.attempts++
	w.overlap = w.overlap || w.attempts > 1
	w.looked = w.wake
	took := time.Duration(w.random.Intn(4)) * time.Millisecond // 0 is an attempt within one instant
	fails := w.chance(10)
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.attempts--; w.mu.Unlock() }()

	// Redis decides somewhere in the middle of the round trip.
	time.Sleep(took)
	if ctx.Err() != nil {
		return cohort.Verdict{}, ctx.Err()
	}
	if fails {
		return cohort.Verdict{}, errors.New("broken")
	}
	w.mu.Lock()
	v := cohort.Verdict{Sleep: 1000 * time.Hour} // only wake-ups move the queue
	if w.units > 0 {
		w.units--
		w.got++
		v.Done, v.More = true, w.units > 0
	}
	w.mu.Unlock()
	time.Sleep(took)
	return v, nil
}

func (w *world) step(t *testing.T) {
	w.mu.Lock()
	dice, pause := w.random.Intn(100), 1+w.random.Intn(5)
	w.mu.Unlock()
	switch {
	case dice < 40: // a waiter comes
		ctx, cancel := context.WithCancel(t.Context())
		w.mu.Lock()
		if w.chance(30) {
			limit := time.Duration(1+w.random.Intn(20)) * time.Millisecond
			ctx, cancel = context.WithTimeout(t.Context(), limit)
		}
		w.cancelled = append(w.cancelled, cancel)
		w.mu.Unlock()
		go func() { _ = w.l.WaitFor(ctx, patience, nil, w.attempt) }()
	case dice < 65: // a waiter leaves
		w.mu.Lock()
		if n := len(w.cancelled); n > 0 {
			w.cancelled[w.random.Intn(n)]()
		}
		w.mu.Unlock()
	case dice < 90: // a unit is given back
		w.mu.Lock()
		w.units++
		w.given++
		w.wake++
		w.mu.Unlock()
		w.l.Wake()
	default:
		time.Sleep(time.Duration(pause) * time.Millisecond)
	}
	w.mu.Lock()
	settle := w.chance(30)
	w.mu.Unlock()
	if settle { // else the next step comes at the same instant
		synctest.Wait()
	}
}

// The invariant of a queue: if a wake-up came after the last attempt began, and there is a waiter, another attempt follows.
// Here waiters and wake-ups come and go at the same instant.
func TestNoInterleavingLosesAWakeUp(t *testing.T) {
	rounds := redistest.Rounds(50, 400)
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) {
			w := &world{l: cohort.NewQueue(confirmed), random: rand.New(rand.NewSource(int64(seed)))}
			for range 15 {
				for range 12 {
					w.step(t)
				}
				time.Sleep(time.Second) // every attempt that is due has been made
				synctest.Wait()
				w.mu.Lock()
				require.False(t, w.overlap, "seed %d: two attempts at once", seed)
				require.Zero(t, w.attempts)
				if waiters := w.l.Len(); waiters > 0 {
					require.Equal(t, w.wake, w.looked, "seed %d: %d wait, and no attempt followed the last wake-up", seed, waiters)
					require.Zero(t, w.units, "seed %d: %d wait although there is something to have", seed, waiters)
				}
				w.mu.Unlock()
			}
			for _, cancel := range w.cancelled {
				cancel()
			}
			time.Sleep(time.Second) // a waiter that became the head before its own context ended still asks
			synctest.Wait()
			require.Zero(t, w.l.Len())
			require.Equal(t, w.given-w.units, w.got)
		})
	}
}
