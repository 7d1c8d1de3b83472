package locking_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A witness knows who believes to hold, and finds two at once. It counts what a run has met, so that a run in which
// nothing rare happened does not pass for a proof.
type witness struct {
	mu       sync.Mutex
	inside   *redlatch.Hold
	overlaps []string
	met      map[string]int
}

func (w *witness) saw(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.met[what]++
}

// enter is called with a fresh first hold. Whoever was inside must not be trusted any more.
func (w *witness) enter(h *redlatch.Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inside != nil && w.inside.Valid() && h.Valid() {
		w.overlaps = append(w.overlaps, fmt.Sprintf("%s and %s at %v", w.inside.Owner(), h.Owner(), time.Now()))
	}
	w.inside = h
	w.met["acquired"]++
}

func (w *witness) leave(h *redlatch.Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inside == h {
		w.inside = nil
	}
}

// Lost answers, delays, refusals, ghosts up to half a minute late and contexts that end at any moment, on fake time: no
// two holds are ever trusted at once, counts are what the holds say, and in the end nothing is left.
func TestRandomFaultsNeverAdmitTwoAndLeaveNothingBehind(t *testing.T) {
	seeds := redistest.Rounds(10, 40)
	met := map[string]int{}
	for seed := range seeds {
		inBubble(t, func(t *testing.T, k *kit) {
			w := &witness{met: met}
			dice := rand.New(rand.NewPCG(uint64(seed), 1))
			rate := []float64{0.02, 0.1, 0.3}[seed%3]
			k.faults(func(op string) fault {
				if op == "renew" && seed%4 == 3 {
					return fault{refused: dice.IntN(10) > 0} // so that holds are lost too
				}
				return draw(dice, rate)
			})
			b := k.lockOf(&plain, handOff(seed), redlatch.WithWatchdogTimeout(3*time.Second), redlatch.WithPoll(time.Second),
				redlatch.WithReleaseTimeout(time.Second), redlatch.WithOutage(2*time.Second))
			var all sync.WaitGroup
			for worker := range 4 {
				all.Go(func() {
					r := rand.New(rand.NewPCG(uint64(seed), uint64(worker)+2))
					for range 8 {
						k.work(r, b, w)
					}
				})
			}
			all.Wait()
			require.Empty(t, w.overlaps, "seed %d", seed)
			met["handed over"] += k.sent("handover")
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("met: %v", met)
	if redistest.InFull() {
		for _, rare := range []string{"acquired", "cancelled", "re-entered", "re-entry failed", "lost", "unconfirmed", "handed over"} {
			require.NotZero(t, met[rare], rare)
		}
	}
}

// The same with three processes, between which the lock is passed, and with connections that end and messages that get
// lost.
func TestRandomFaultsAmongProcessesNeverAdmitTwoAndLeaveNothingBehind(t *testing.T) {
	seeds := redistest.Rounds(15, 60)
	met := map[string]int{}
	for seed := range seeds {
		inBubble(t, func(t *testing.T, k *kit) {
			w := &witness{met: met}
			dice := rand.New(rand.NewPCG(uint64(seed), 1))
			rate := []float64{0, 0.02, 0.1, 0.3}[seed%4]
			k.faults(func(string) fault { return draw(dice, rate) })
			var processes []*process
			var all sync.WaitGroup
			for p := range 3 {
				one := k.anotherOf(&plain, handOff(seed), redlatch.WithWatchdogTimeout(12*time.Second), redlatch.WithPoll(time.Second),
					redlatch.WithReleaseTimeout(time.Second), redlatch.WithOutage(2*time.Second))
				processes = append(processes, one)
				for worker := range 3 {
					all.Go(func() {
						r := rand.New(rand.NewPCG(uint64(seed), uint64(3*p+worker)+2))
						for range 6 {
							k.work(r, one.Base, w)
						}
					})
				}
			}
			done := make(chan struct{})
			go func() {
				all.Wait()
				close(done)
			}()
			for r := rand.New(rand.NewPCG(uint64(seed), 99)); ; {
				select {
				case <-done:
				case <-time.After(time.Duration(r.IntN(3000)) * time.Millisecond):
					switch p := processes[r.IntN(3)]; {
					case rate == 0:
					case r.IntN(2) == 0:
						k.cut(p)
					default:
						k.deafen(p)
					}
					continue
				}
				break
			}
			require.Empty(t, w.overlaps, "seed %d", seed)
			met["handed over"] += k.sent("handover")
			met["passed"] += k.passes()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("met: %v", met)
	if redistest.InFull() {
		for _, rare := range []string{"acquired", "cancelled", "re-entered", "unconfirmed", "handed over", "passed"} {
			require.NotZero(t, met[rare], rare)
		}
	}
}

// handOff has half of the runs use a lock that needs no command to go from hand to hand.
func handOff(seed int) redlatch.Option {
	if seed%5 >= 3 {
		return nil
	}
	return confirmed
}

// draw decides what happens to one command.
func draw(dice *rand.Rand, rate float64) fault {
	f := fault{before: time.Duration(dice.IntN(5)) * time.Millisecond, after: time.Duration(dice.IntN(5)) * time.Millisecond}
	if dice.Float64() >= rate {
		return f
	}
	switch dice.IntN(6) {
	case 0:
		f.lost = true
	case 1:
		f.refused = true
	case 2:
		f.ghost = time.Duration(dice.IntN(30000)+1) * time.Millisecond
	case 3:
		f.before = time.Duration(dice.IntN(2000)) * time.Millisecond
	case 4:
		f.after = time.Duration(dice.IntN(2000)) * time.Millisecond
	case 5:
		f.before, f.lost = time.Duration(dice.IntN(2000))*time.Millisecond, true
	}
	return f
}

// work acquires with a context that may end at any moment, re-enters a few times, and gives back in any order.
func (k *kit) work(r *rand.Rand, b *baselock.Base, w *witness) {
	ctx, cancel := k.ctx, context.CancelFunc(func() {})
	if r.IntN(2) == 0 {
		ctx, cancel = context.WithTimeout(k.ctx, time.Duration(r.IntN(3000))*time.Millisecond)
	}
	defer cancel()
	outer, err := locking.Lock(ctx, b, nil)
	if err != nil {
		w.saw("failed")
		if errors.Is(err, context.DeadlineExceeded) {
			w.saw("cancelled")
		}
		return
	}
	w.enter(outer)
	k.keep(outer)
	holds := []*redlatch.Hold{outer}
	work := outer.Context(k.ctx)
	for range r.IntN(3) {
		inner, err := k.reenter(r, b, work)
		if err != nil {
			w.saw("re-entry failed")
			continue
		}
		if inner.Owner() == outer.Owner() {
			w.saw("re-entered")
		}
		k.keep(inner)
		holds = append(holds, inner)
	}
	long := time.Duration(r.IntN(5000)) * time.Millisecond
	if r.IntN(2) == 0 {
		long = 0 // the lock is handed over only after short work
	}
	select { // as work does: until it is done, or must not go on
	case <-time.After(long):
	case <-work.Done():
	}
	w.leave(outer)
	r.Shuffle(len(holds), func(i, j int) { holds[i], holds[j] = holds[j], holds[i] })
	for _, h := range holds {
		switch err := h.Unlock(k.ctx); {
		case errors.Is(err, redlatch.ErrLost):
			w.saw("lost")
		case err != nil:
			w.saw("unconfirmed")
		}
	}
}

func (k *kit) reenter(r *rand.Rand, b *baselock.Base, work context.Context) (*redlatch.Hold, error) {
	ctx, cancel := context.WithTimeout(work, time.Duration(r.IntN(1000)+1)*time.Millisecond)
	defer cancel()
	return locking.Lock(ctx, b, nil)
}
