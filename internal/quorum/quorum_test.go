package quorum_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// A fake is a member's hold whose trust and whose answers the test decides.
type fake struct {
	ending    holds.Ending
	until     atomic.Pointer[time.Time]
	slow      time.Duration // of Unlock and Extend
	err       error         // of both
	unlocked  atomic.Int64
	forgotten atomic.Int64
}

func (f *fake) Unlock(context.Context) error {
	time.Sleep(f.slow)
	f.unlocked.Add(1)
	f.ending.End(errs.Released)
	return f.err
}

func (f *fake) Extend(_ context.Context, lease time.Duration) error {
	time.Sleep(f.slow)
	f.trust(time.Now().Add(lease))
	return f.err
}

func (f *fake) Owner() string          { return "somebody" }
func (f *fake) Token() int64           { return 7 }
func (f *fake) Object() (p, n string)  { return "lock", "orders:42" }
func (f *fake) Until() time.Time       { return *f.until.Load() }
func (f *fake) Ending() *holds.Ending  { return &f.ending }
func (f *fake) Leave()                 {}
func (f *fake) Forgotten(*holds.Place) { f.forgotten.Add(1) }
func (f *fake) trust(until time.Time)  { f.until.Store(&until) }

// lose ends the hold by itself; Unlock says so, as that of a lock does.
func (f *fake) lose() {
	f.trust(time.Now())
	f.err = &redlatch.LossError{Name: "m", Reason: "test"}
	f.ending.End(f.err)
}
func (f *fake) member() holds.Member { return holds.Member{Name: "m", Hold: f} }

func members(trust ...time.Duration) (fakes []*fake, all []holds.Member) {
	for _, d := range trust {
		f := &fake{}
		f.trust(time.Now().Add(d))
		fakes, all = append(fakes, f), append(all, f.member())
	}
	return fakes, all
}

func hold(need int, all []holds.Member) (*quorum.Hold, *[]redlatch.Event) {
	var seen []redlatch.Event
	set := settings.Defaults()
	var mu sync.Mutex
	set.Logger = slog.New(slog.DiscardHandler)
	rootapi.Change(redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e)
	})), &set)
	call := quorum.Call{Composite: &quorum.Composite{Kind: "composite", Name: "c", Need: need}, Set: &set}
	var h *quorum.Hold
	_, _ = call.Take(context.Background(), func(context.Context) (*quorum.Hold, error) {
		h = call.Hold(time.Now(), all, nil, nil)
		return h, nil
	})
	mu.Lock()
	defer mu.Unlock()
	seen = nil // of its acquisition
	return h, &seen
}

func giveBack(ctx context.Context, all []holds.Member) {
	call := quorum.Call{Composite: &quorum.Composite{}, Set: &settings.Settings{}}
	call.GiveBack(ctx, all)
}

func TestTrustIsThatOfTheLastMemberThatIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		fakes, all := members(5*time.Second, time.Second, 3*time.Second, 2*time.Second, 4*time.Second)
		for need, want := range map[int]time.Duration{1: 5, 2: 4, 3: 3, 4: 2, 5: 1} {
			h, _ := hold(need, all)
			require.Equal(t, start.Add(want*time.Second), h.Until())
		}
		h, _ := hold(3, all)
		fakes[1].trust(start.Add(time.Minute)) // renewed
		require.Equal(t, start.Add(4*time.Second), h.Until())
		require.NoError(t, h.Unlock(t.Context()))
	})
}

func TestFewerMembersThanNeededAreALossAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Minute, time.Minute, time.Minute)
		h, seen := hold(2, all)
		fakes[2].lose()
		require.NoError(t, h.Ending().Cause())
		fakes[0].lose()
		require.ErrorIs(t, h.Ending().Cause(), errs.Lost, "before lose returns")
		require.ErrorContains(t, h.Ending().Cause(), "1 of its members are left and it needs 2")
		require.False(t, h.Until().After(time.Now()))
		require.False(t, h.Add((&fake{}).member()), "it is over")
		fakes[1].lose()
		synctest.Wait() // it is told when it is known why
		require.Len(t, *seen, 1, "once")
		require.ErrorIs(t, h.Extend(t.Context(), time.Minute), errs.Lost)
		require.ErrorIs(t, h.Unlock(t.Context()), errs.Lost)
	})
}

func TestAMemberThatIsAddedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Minute, time.Minute)
		h, _ := hold(2, all)
		late, added := members(time.Minute)
		require.True(t, h.Add(added[0]))
		fakes[0].lose()
		require.NoError(t, h.Ending().Cause())
		late[0].lose()
		require.ErrorIs(t, h.Ending().Cause(), errs.Lost)
		_ = h.Unlock(t.Context())
		require.EqualValues(t, 1, late[0].unlocked.Load())
	})
}

func TestAfterALossTheRestIsGivenBackByUnlockOrAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Hour, time.Hour)
		h, _ := hold(2, all)
		fakes[0].lose()
		time.Sleep(quorum.Grace - time.Millisecond)
		require.Zero(t, fakes[1].unlocked.Load())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 1, fakes[1].unlocked.Load())
		require.ErrorIs(t, h.Unlock(t.Context()), errs.Lost)
		require.EqualValues(t, 1, fakes[1].unlocked.Load(), "once")

		fakes, all = members(time.Hour, time.Hour)
		h, _ = hold(2, all)
		fakes[0].lose()
		require.ErrorIs(t, h.Unlock(t.Context()), errs.Lost)
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, fakes[1].unlocked.Load(), "once")
		require.ErrorIs(t, h.Unlock(t.Context()), errs.Released)
	})
}

func TestUnlockWaitsForAsManyAsAreNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Hour, time.Hour, time.Hour)
		for i, f := range fakes {
			f.slow = time.Duration(i+1) * time.Second
		}
		h, _ := hold(2, all)
		start := time.Now()
		require.NoError(t, h.Unlock(t.Context()))
		require.Equal(t, 2*time.Second, time.Since(start))
		time.Sleep(time.Second)
		synctest.Wait()
		require.EqualValues(t, 1, fakes[2].unlocked.Load(), "the third too, behind")
	})
}

func TestUnlockJoinsEveryFailureAndTellsALossFromDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, silent := errors.New("broken"), errors.New("silent")
		fakes, all := members(time.Hour, time.Hour, time.Hour)
		fakes[0].err, fakes[2].err, fakes[2].slow = broken, silent, time.Second
		h, _ := hold(3, all)
		err := h.Unlock(t.Context())
		require.EqualError(t, err, "redlatch: composite \"c\": \"m\": broken\n\"m\": silent")
		require.ErrorIs(t, err, broken)
		require.ErrorIs(t, err, silent)
		require.NotErrorIs(t, err, errs.Lost)
		for _, f := range fakes {
			require.EqualValues(t, 1, f.unlocked.Load())
		}
		fakes, all = members(time.Hour, time.Hour, time.Hour)
		fakes[1].err = &redlatch.LossError{}
		h, seen := hold(3, all)
		require.ErrorIs(t, h.Unlock(t.Context()), errs.Lost)
		synctest.Wait() // it is told behind the call
		require.Len(t, *seen, 1)
		require.Equal(t, redlatch.EventLost, (*seen)[0].Kind)
	})
}

// A member whose re-entry has come to its limit ends as one that is lost does, but is still held, and its Unlock says so.
func TestUnlockAfterALossSaysItUnlessEveryMemberIsFoundToBeHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, answer := range map[error]error{errs.Lost: errors.New("no answer"), nil: nil} {
			fakes, all := members(time.Hour, time.Hour, time.Hour)
			h, _ := hold(2, all)
			for _, f := range fakes[1:] {
				f.lose()
				f.err = answer
			}
			require.ErrorIs(t, h.Ending().Cause(), errs.Lost)
			require.ErrorIs(t, h.Unlock(t.Context()), want)
		}
	})
}

func TestExtendLengthensAsManyAsAreNeededAndSaysWhyNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Hour, time.Hour, time.Hour)
		h, _ := hold(2, all)
		broken := errors.New("broken")
		fakes[0].err = broken
		require.NoError(t, h.Extend(t.Context(), 2*time.Hour))
		synctest.Wait()
		require.Equal(t, time.Now().Add(2*time.Hour), h.Until())
		fakes[1].err = broken
		err := h.Extend(t.Context(), 3*time.Hour)
		require.EqualError(t, err, "redlatch: extending the lease of composite \"c\": \"m\": broken\n\"m\": broken")
		require.ErrorIs(t, err, broken)
		synctest.Wait()
		until := h.Until()
		require.Error(t, h.Unlock(t.Context()))
		require.ErrorIs(t, h.Extend(t.Context(), 4*time.Hour), errs.Released)
		synctest.Wait()
		for _, f := range fakes {
			require.Equal(t, until, f.Until(), "no member is extended after Unlock")
		}
	})
}

func TestAForgottenHoldLetsItsMembersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Second, time.Second)
		h, seen := hold(2, all)
		done := holds.NewContext(context.Background(), h, nil).Done() // all that somebody still has of it
		h.Forgotten(nil)
		<-done
		require.ErrorIs(t, h.Ending().Cause(), errs.Lost)
		for _, f := range fakes {
			require.EqualValues(t, 1, f.forgotten.Load())
			require.Zero(t, f.unlocked.Load(), "nothing is released")
		}
		time.Sleep(time.Minute)
		require.Len(t, *seen, 1)
		require.Equal(t, redlatch.EventForgotten, (*seen)[0].Kind)
	})
}

func TestAHoldThatIsOverIsNotForgottenOnceMore(t *testing.T) {
	for name, end := range map[string]func(h *quorum.Hold, f *fake){
		"unlocked":  func(h *quorum.Hold, _ *fake) { _ = h.Unlock(context.Background()) },
		"lost":      func(_ *quorum.Hold, f *fake) { f.lose() },
		"forgotten": func(h *quorum.Hold, _ *fake) { h.Forgotten(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fakes, all := members(time.Hour, time.Hour)
				h, seen := hold(2, all)
				end(h, fakes[0])
				forgotten := fakes[1].forgotten.Load()
				h.Forgotten(nil)
				require.Equal(t, forgotten, fakes[1].forgotten.Load())
				synctest.Wait() // a loss is told when it is known why
				require.Len(t, *seen, 1)
			})
		})
	}
}

func TestGiveBackDoesNotHoldUpACallerWhoseContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Hour, time.Hour)
		fakes[0].slow = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		giveBack(ctx, all)
		require.Less(t, time.Since(start), 1050*time.Millisecond)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.EqualValues(t, 1, fakes[0].unlocked.Load())
	})
}

func TestGiveBackStaysForAMomentAfterItsContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Hour, time.Hour)
		fakes[0].slow = 5 * time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		giveBack(ctx, all)
		require.Equal(t, 5*time.Millisecond, time.Since(start))
		require.EqualValues(t, 1, fakes[0].unlocked.Load(), "whoever is told so may take it at once")
	})
}

func TestAHoldShowsItsLiveMembersWhileItIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes, all := members(time.Hour, time.Hour, time.Hour)
		h, _ := hold(2, all)
		require.Equal(t, []holds.Hold{fakes[0], fakes[1], fakes[2]}, h.Members())
		fakes[1].lose()
		require.Equal(t, []holds.Hold{fakes[0], fakes[2]}, h.Members())
		carrying := holds.NewContext(context.Background(), h, nil)
		carried := quorum.Carried(carrying)
		require.Equal(t, []*quorum.Hold{h}, carried)
		require.NoError(t, quorum.Lost(carried))
		fakes[0].lose()
		require.ErrorIs(t, quorum.Lost(carried), errs.Lost)
		require.Empty(t, quorum.Carried(context.WithoutCancel(carrying)))
		require.Empty(t, h.Members())
		_ = h.Unlock(t.Context())
	})
	synctest.Test(t, func(t *testing.T) {
		_, all := members(time.Hour, time.Hour)
		h, _ := hold(2, all)
		require.NoError(t, h.Unlock(t.Context()))
		require.Empty(t, h.Members(), "what is given back opens nothing")
	})
}
