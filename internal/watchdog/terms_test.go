package watchdog_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/watchdog"
)

func TestAShortFixedLeaseSendsNothingAndEndsOnTime(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, watchdog.Terms{Every: every, Margin: 10 * time.Millisecond, Trusted: w.start.Add(5 * time.Second)})
		w.until(5*time.Second - 1)
		require.Empty(t, o.lost())
		w.until(time.Hour)
		require.Equal(t, []loss{{5 * time.Second, watchdog.LeaseOver, nil}}, o.lost())
		require.Empty(t, w.sent())
	})
}

func TestALongFixedLeaseIsCheckedAndNotExtended(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.checked(time.Minute))
		w.until(time.Hour)
		require.Equal(t, sec(10, 20, 30, 40, 50), w.sent())
		require.Equal(t, []time.Duration{0}, w.call(1).leases)
		require.Equal(t, []loss{{time.Minute - margin, watchdog.LeaseOver, nil}}, o.lost())
	})
}

func TestALongFixedLeaseTakenAwayIsNoticedAtTheNextCheck(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(_ context.Context, n int, _ *call) ([]bool, error) { return all(n == 1, 1), nil }
		w.keep(o, w.checked(time.Hour))
		w.until(time.Minute)
		require.Equal(t, []loss{{20 * time.Second, watchdog.NotOwned, nil}}, o.lost())
	})
}

func TestFailedChecksDoNotShortenAFixedLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(context.Context, int, *call) ([]bool, error) { return nil, errDown }
		w.keep(o, w.checked(time.Minute))
		w.until(time.Hour)
		require.Equal(t, sec(10, 10.5, 11.5, 13.5, 17.5, 22.5, 27.5, 32.5, 37.5, 42.5, 47.5, 52.5, 57.5), w.sent())
		require.Equal(t, []loss{{time.Minute - margin, watchdog.LeaseOver, nil}}, o.lost())
	})
}

func TestNoRenewalReachesPastTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		terms := w.renewed()
		terms.End = w.start.Add(45 * time.Second)
		w.keep(o, terms)
		require.Equal(t, 5*time.Second, o.Lease(w.start.Add(40*time.Second)))
		require.Zero(t, o.Lease(w.start.Add(46*time.Second)))
		w.until(time.Hour)
		require.Equal(t, sec(10, 20, 30, 40), w.sent())
		for n, want := range sec(30, 25, 15, 5) {
			require.Equal(t, []time.Duration{want}, w.call(n+1).leases)
		}
		// The leases asked for end at the end, and trust a margin before them.
		require.Equal(t, []loss{{45*time.Second - margin, watchdog.HoldOver, nil}}, o.lost())
	})
}

func TestTrustNeverGoesBeyondTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		terms := w.renewed()
		terms.End = w.start.Add(5 * time.Second)
		w.keep(o, terms)
		require.Equal(t, 5*time.Second, w.trusted(o))
		w.until(time.Hour)
		require.Equal(t, []loss{{5 * time.Second, watchdog.HoldOver, nil}}, o.lost())
	})
}

func TestAFixedLeasePastTheEndEndsThere(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		terms := w.checked(time.Minute)
		terms.End = w.start.Add(25 * time.Second)
		w.keep(o, terms)
		w.until(time.Hour)
		require.Equal(t, sec(10, 20), w.sent(), "a check has a period, however little is left of the lease")
		require.Equal(t, []loss{{25 * time.Second, watchdog.HoldOver, nil}}, o.lost())
	})
}

func TestRenewalsUnansweredBeforeTheEndAreTheReason(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(context.Context, int, *call) ([]bool, error) { return nil, errDown }
		terms := w.renewed()
		terms.End = w.start.Add(45 * time.Second)
		w.keep(o, terms)
		w.until(time.Hour)
		require.Equal(t, []loss{{trust, watchdog.Unanswered, errDown}}, o.lost())
	})
}

func TestChangeMovesTrustForwardOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.renewed())
		terms := w.renewed()
		terms.Trusted = w.start.Add(20 * time.Second)
		w.dog.Change(&o.Ticket, terms)
		require.Equal(t, trust, w.trusted(o))
		terms.Trusted = w.start.Add(40 * time.Second)
		w.dog.Change(&o.Ticket, terms)
		require.Equal(t, 40*time.Second, w.trusted(o))
		terms.End = w.start.Add(15 * time.Second)
		w.dog.Change(&o.Ticket, terms)
		require.Equal(t, 15*time.Second, w.trusted(o), "the end is the exception")
		terms.End = time.Time{}
		terms.Trusted = w.start
		w.dog.Change(&o.Ticket, terms)
		require.Equal(t, 15*time.Second, w.trusted(o))
		w.forget(o)
	})
}

func TestChangeToALongerLeaseRenewsAtItsPeriod(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.renewed())
		w.until(12 * time.Second)
		w.dog.Change(&o.Ticket, watchdog.Terms{
			Lease: 90 * time.Second, Every: 30 * time.Second, Margin: time.Second,
			Trusted: time.Now().Add(89 * time.Second),
		})
		require.Equal(t, 101*time.Second, w.trusted(o))
		w.until(55 * time.Second)
		require.Equal(t, sec(10, 20, 50), w.sent(), "the send that was planned stays")
		require.Equal(t, sec(90), w.call(3).leases)
		require.Equal(t, 139*time.Second, w.trusted(o))
		w.forget(o)
	})
}

func TestChangeToAShorterPeriodTakesEffectAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.renewed())
		w.until(time.Second)
		w.dog.Change(&o.Ticket, watchdog.Terms{Lease: 3 * time.Second, Every: time.Second, Margin: margin, Trusted: time.Now()})
		w.until(4 * time.Second)
		require.Equal(t, sec(2, 3, 4), w.sent())
		require.Equal(t, trust, w.trusted(o))
		w.forget(o)
	})
}

func TestChangeBetweenCheckingAndRenewing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.checked(time.Minute))
		w.until(15 * time.Second)
		w.dog.Change(&o.Ticket, w.renewed())
		require.Equal(t, time.Minute-margin, w.trusted(o))
		w.until(45 * time.Second)
		require.Equal(t, sec(10, 20, 30, 40), w.sent())
		require.Equal(t, 40*time.Second+trust, w.trusted(o))
		w.dog.Change(&o.Ticket, w.checked(30*time.Second))
		w.until(55 * time.Second)
		require.Equal(t, sec(10, 20, 30, 40, 50), w.sent())
		require.Equal(t, sec(0), w.call(5).leases)
		w.until(time.Hour)
		require.Equal(t, sec(10, 20, 30, 40, 50, 60, 70), w.sent())
		require.Equal(t, []loss{{45*time.Second + 30*time.Second - margin, watchdog.LeaseOver, nil}}, o.lost())
	})
}

// Send may have asked for the lease before the change or after it; neither is known to be the one that trust counts on.
func TestAnAnswerAcrossAChangeOfLeaseProvesLifeButMovesNoTrust(t *testing.T) {
	changes := map[string]func(*watchdog.Terms, *world){
		"shorter and back": func(terms *watchdog.Terms, w *world) {
			terms.Lease = 3 * time.Second
		},
		"end and back": func(terms *watchdog.Terms, w *world) {
			terms.End = w.start.Add(35 * time.Second)
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				o := w.owner(0)
				w.answer = func(_ context.Context, n int, _ *call) ([]bool, error) {
					if n == 1 {
						return w.deaf(12*time.Second, all(true, 1), nil)
					}
					return all(true, 1), nil
				}
				w.keep(o, w.renewed())
				w.until(11 * time.Second)
				terms := w.renewed()
				terms.Trusted = w.start
				other := terms
				change(&other, w)
				w.dog.Change(&o.Ticket, other)
				w.dog.Change(&o.Ticket, terms)
				w.until(12 * time.Second)
				require.Equal(t, trust, w.trusted(o))
				w.until(21 * time.Second)
				require.Equal(t, sec(10, 20), w.sent(), "it counts as answered")
				require.Equal(t, 20*time.Second+trust, w.trusted(o))
				w.forget(o)
			})
		})
	}
}

func TestChangeAfterForgetOrLossDoesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o, p := w.owner(0), w.owner(0)
		w.answer = func(context.Context, int, *call) ([]bool, error) { return all(false, 1), nil }
		w.keep(o, w.renewed())
		w.forget(o)
		w.dog.Change(&o.Ticket, w.renewed())
		w.keep(p, w.renewed())
		w.until(10 * time.Second)
		require.Len(t, p.lost(), 1)
		w.dog.Change(&p.Ticket, w.renewed())
		require.Equal(t, 10*time.Second, w.trusted(p))
		w.until(time.Hour)
		require.Equal(t, sec(10), w.sent())
		require.Empty(t, o.lost())
		require.Len(t, p.lost(), 1)
	})
}

// Redis has whole milliseconds, and what is not one is rounded up on the way there.
func TestALeaseDoesNotReachPastTheEndByAPartOfAMillisecond(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o, terms := w.owner(0), w.renewed()
		terms.End = time.Now().Add(5*time.Second + 900*time.Microsecond)
		w.keep(o, terms)
		require.Equal(t, 5*time.Second, o.Lease(time.Now()))
		w.forget(o)
	})
}

func TestWhatIsPromisedEndsWithTheLeaseAndNoLater(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		require.Zero(t, o.Promised(time.Now()), "nothing was agreed on yet")
		w.keep(o, w.checked(time.Minute))
		require.Equal(t, time.Minute, o.Promised(w.start))
		require.Equal(t, 20*time.Second-time.Millisecond, o.Promised(w.start.Add(40*time.Second+time.Microsecond)))
		require.Zero(t, o.Promised(w.start.Add(2*time.Minute)))

		ends := w.owner(0)
		terms := w.checked(time.Minute)
		terms.End = w.start.Add(45 * time.Second)
		w.keep(ends, terms)
		require.Equal(t, 5*time.Second, ends.Promised(w.start.Add(40*time.Second)))
		w.until(time.Hour)
	})
}

func TestTheMarginIsAHundredthWithinBounds(t *testing.T) {
	for lease, want := range map[time.Duration]time.Duration{
		0: 0, 2 * time.Millisecond: time.Millisecond, 20 * time.Millisecond: 10 * time.Millisecond,
		800 * time.Millisecond: 10 * time.Millisecond, time.Second: 12 * time.Millisecond,
		30 * time.Second: 302 * time.Millisecond, time.Hour: 36002 * time.Millisecond,
	} {
		require.Equal(t, want, watchdog.Margin(lease), "of %v", lease)
	}
}
