package watchdog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/watchdog"
)

func TestRenewsEachPeriodAndTrustsFromBeforeTheSend(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(_ context.Context, n int, c *call) ([]bool, error) {
			return w.deaf(w.now()+3*time.Second, all(true, 1), nil)
		}
		w.keep(o, w.renewed())
		require.Equal(t, trust, w.trusted(o))
		w.until(12 * time.Second)
		require.Equal(t, trust, w.trusted(o), "not before the answer")
		w.until(13 * time.Second)
		require.Equal(t, 10*time.Second+trust, w.trusted(o))
		w.until(45 * time.Second)
		require.Equal(t, sec(10, 20, 30, 40), w.sent())
		require.Equal(t, []time.Duration{lease}, w.call(1).leases)
		require.Equal(t, 40*time.Second+trust, w.trusted(o))
		w.forget(o)
		require.Empty(t, o.lost())
	})
}

func TestADayOfRenewalsNeverLetsTrustRunShort(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.renewed())
		for at := time.Second; at < 24*time.Hour; at += time.Second {
			w.until(at)
			require.Greater(t, time.Until(o.TrustedUntil()), lease/2)
		}
		require.Len(t, w.sent(), 8639)
		w.forget(o)
	})
}

func TestAnAcquisitionThatTookMostOfItsLeaseIsRenewedSoon(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		terms := w.renewed()
		terms.Trusted = terms.Trusted.Add(-24 * time.Second)
		w.keep(o, terms)
		w.until(13 * time.Second)
		require.Equal(t, sec(2, 12), w.sent())
		w.forget(o)
	})
}

func TestTrustThatIsOverAtKeepIsALossAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		terms := w.renewed()
		terms.Trusted = w.start
		w.keep(o, terms)
		require.Equal(t, []loss{{0, watchdog.Unanswered, nil}}, o.lost())
		p := w.owner(0)
		terms.Trusted = time.Time{}
		w.keep(p, terms)
		require.Equal(t, []loss{{0, watchdog.Unanswered, nil}}, p.lost())
		w.until(time.Minute)
		require.Empty(t, w.sent())
	})
}

func TestAnAnswerNotItsOwnersIsALossAtOnceAndEndsRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o, p := w.owner(0), w.owner(0)
		w.answer = func(_ context.Context, n int, c *call) ([]bool, error) {
			alive := all(true, len(c.owners))
			for i := range alive {
				alive[i] = n == 1 || c.owners[i] == p
			}
			return w.deaf(w.now()+time.Second, alive, nil)
		}
		w.keep(o, w.renewed())
		w.keep(p, w.renewed())
		w.until(35 * time.Second)
		require.Equal(t, []loss{{21 * time.Second, watchdog.NotOwned, nil}}, o.lost())
		require.Equal(t, 21*time.Second, w.trusted(o), "TrustedUntil says so too")
		require.Equal(t, sec(10, 20, 30), w.sent())
		require.Equal(t, []*owner{p}, w.call(3).owners)
		w.forget(p)
		require.Empty(t, p.lost())
	})
}

func TestErrorsAreRetriedWithGrowingPausesUntilTrustEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(_ context.Context, n int, _ *call) ([]bool, error) { return nil, nth(n) }
		w.keep(o, w.renewed())
		w.until(trust - 1)
		require.Empty(t, o.lost())
		w.until(time.Hour)
		require.Equal(t, sec(10, 10.5, 11.5, 13.5, 17.5, 22.5, 27.5), w.sent())
		require.Equal(t, []loss{{trust, watchdog.Unanswered, nth(7)}}, o.lost())
		require.Equal(t, trust, w.trusted(o))
	})
}

func TestAnAnswerAfterErrorsRestoresThePeriodAndForgetsThem(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(ctx context.Context, n int, _ *call) ([]bool, error) {
			switch {
			case n == 3:
				return all(true, 1), nil
			case n < 6:
				return nil, nth(n)
			default:
				return hang(ctx)
			}
		}
		w.keep(o, w.renewed())
		w.until(12 * time.Second)
		require.Equal(t, 11500*time.Millisecond+trust, w.trusted(o))
		w.until(time.Hour)
		// 21.5 and 22 fail, 23 and its doubles hang; the pause began small again.
		require.Equal(t, sec(10, 10.5, 11.5, 21.5, 22, 23, 28, 33), w.sent())
		require.Equal(t, []loss{{11500*time.Millisecond + trust, watchdog.Unanswered, nth(5)}}, o.lost())
	})
}

func TestAnAnswerOfTheWrongLengthIsAnError(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(context.Context, int, *call) ([]bool, error) { return all(true, 2), nil }
		w.keep(o, w.renewed())
		w.until(time.Minute)
		require.Len(t, o.lost(), 1)
		require.EqualError(t, o.lost()[0].cause, "watchdog: a script of 1 tickets answered for 2")
	})
}

// Whichever renewal fails, and however, the next one saves the hold, and trust is what the answers allow.
func TestOneFailedRenewalAnywhereDoesNoHarm(t *testing.T) {
	fates := map[string]struct {
		fate func(w *world, ctx context.Context) ([]bool, error)
		next time.Duration // when the next send is made, after the one that failed
	}{
		"lost":          {func(w *world, ctx context.Context) ([]bool, error) { return hang(ctx) }, 5 * time.Second},
		"failed":        {func(*world, context.Context) ([]bool, error) { return nil, errDown }, 500 * time.Millisecond},
		"failed slowly": {func(w *world, _ context.Context) ([]bool, error) { return w.deaf(w.now()+4*time.Second, nil, errDown) }, 4500 * time.Millisecond},
		"delayed": {func(w *world, _ context.Context) ([]bool, error) {
			return w.deaf(w.now()+4*time.Second, all(true, 1), nil)
		}, 10 * time.Second},
		"answered late": {func(w *world, _ context.Context) ([]bool, error) {
			return w.deaf(w.now()+time.Minute, all(true, 1), nil)
		}, 5 * time.Second},
		"failed too late": {func(w *world, _ context.Context) ([]bool, error) { return w.deaf(w.now()+time.Minute, nil, errDown) }, 5 * time.Second},
	}
	for name, f := range fates {
		for k := 1; k <= 4; k++ {
			t.Run(fmt.Sprintf("renewal %d %s", k, name), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					o := w.owner(0)
					w.answer = func(ctx context.Context, n int, _ *call) ([]bool, error) {
						if n == k {
							return f.fate(w, ctx)
						}
						return all(true, 1), nil
					}
					w.keep(o, w.renewed())
					failed := time.Duration(k) * every
					next := failed + f.next
					w.until(next)
					require.Equal(t, next+trust, w.trusted(o))
					w.until(next + 10*every)
					require.Empty(t, o.lost())
					require.Len(t, w.sent(), k+11, "one a period, before and after")
					require.Equal(t, next, w.call(k+1).at)
					require.Equal(t, next+every, w.call(k+2).at)
					if name == "lost" {
						require.Equal(t, next, w.call(k).ended, "cancelled once the double was answered")
					}
					w.forget(o)
				})
			})
		}
	}
}

func TestUnansweredRenewalsAreDoubledUpToThreeInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o, asked := w.owner(0), 0
		o.onBatch = func() { asked++ }
		w.answer = func(ctx context.Context, _ int, _ *call) ([]bool, error) { return hang(ctx) }
		w.keep(o, w.renewed())
		w.until(time.Hour)
		require.Equal(t, sec(10, 15, 20), w.sent())
		require.Equal(t, 3, asked, "a fourth is not even prepared")
		require.Equal(t, []loss{{trust, watchdog.Unanswered, nil}}, o.lost())
		for n := 1; n <= 3; n++ {
			require.Equal(t, trust, w.call(n).ended, "hanging sends end with trust")
		}
	})
}

func TestAFailureAmongThreeInFlightMakesRoomForAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(ctx context.Context, n int, _ *call) ([]bool, error) {
			if n == 1 {
				return w.deaf(23*time.Second, nil, nth(1))
			}
			return hang(ctx)
		}
		w.keep(o, w.renewed())
		w.until(time.Hour)
		require.Equal(t, sec(10, 15, 20, 23.5), w.sent())
		require.Equal(t, []loss{{trust, watchdog.Unanswered, nth(1)}}, o.lost())
	})
}

func TestAnAnswerToAnOldSendKeepsTheNewerOnesInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(ctx context.Context, n int, _ *call) ([]bool, error) {
			switch n {
			case 1:
				return w.deaf(24*time.Second, all(true, 1), nil)
			case 2:
				return w.deaf(33*time.Second, all(true, 1), nil)
			default:
				return hang(ctx)
			}
		}
		w.keep(o, w.renewed())
		w.until(24 * time.Second)
		require.Equal(t, 10*time.Second+trust, w.trusted(o), "counted from its own send")
		w.until(32 * time.Second)
		require.Equal(t, sec(10, 15, 20, 25), w.sent(), "10 answered, three in flight again")
		w.until(33 * time.Second)
		require.Equal(t, 15*time.Second+trust, w.trusted(o))
		w.until(time.Hour)
		require.Equal(t, sec(10, 15, 20, 25, 33), w.sent()[:5])
		require.Equal(t, []loss{{15*time.Second + trust, watchdog.Unanswered, nil}}, o.lost())
	})
}

func TestAnAnswerOvertakenByALaterSendMovesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(_ context.Context, n int, _ *call) ([]bool, error) {
			if n == 1 {
				return w.deaf(18*time.Second, all(true, 1), nil)
			}
			return all(true, 1), nil
		}
		w.keep(o, w.renewed())
		w.until(15 * time.Second)
		require.Equal(t, 15*time.Second, w.call(1).ended)
		w.until(30 * time.Second)
		require.Equal(t, 25*time.Second+trust, w.trusted(o))
		require.Equal(t, sec(10, 15, 25), w.sent())
		w.forget(o)
	})
}

func TestANotOwnedOvertakenByALaterSendIsStillALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o, p := w.owner(0), w.owner(0)
		w.answer = func(_ context.Context, n int, c *call) ([]bool, error) {
			if n == 1 {
				return w.deaf(18*time.Second, []bool{c.owners[0] == p, c.owners[1] == p}, nil)
			}
			return all(true, len(c.owners)), nil
		}
		w.keep(o, w.renewed())
		w.keep(p, w.renewed())
		w.until(20 * time.Second)
		require.Equal(t, []loss{{18 * time.Second, watchdog.NotOwned, nil}}, o.lost())
		require.Empty(t, p.lost())
		w.forget(p)
	})
}

func TestNoLateAnswerRevivesATicket(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(_ context.Context, n int, _ *call) ([]bool, error) {
			return w.deaf(trust+time.Duration(n-1)*time.Second, all(true, 1), nil) // the first at the very moment
		}
		w.keep(o, w.renewed())
		w.until(time.Hour)
		require.Equal(t, []loss{{trust, watchdog.Unanswered, nil}}, o.lost())
		require.Equal(t, trust, w.trusted(o))
		require.Equal(t, sec(10, 15, 20), w.sent())
	})
}

func TestAnAnsweredErrorIsNoLongerTheCause(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(ctx context.Context, n int, _ *call) ([]bool, error) {
			switch n {
			case 1:
				return nil, errDown
			case 2:
				return all(true, 1), nil
			default:
				return hang(ctx)
			}
		}
		w.keep(o, w.renewed())
		w.until(time.Hour)
		require.Equal(t, []loss{{10500*time.Millisecond + trust, watchdog.Unanswered, nil}}, o.lost())
	})
}

func TestAFailureDoesNotPutOffTheDoubleOfALaterSend(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(ctx context.Context, n int, _ *call) ([]bool, error) {
			if n == 1 {
				return w.deaf(19500*time.Millisecond, nil, errDown)
			}
			return hang(ctx)
		}
		w.keep(o, w.renewed())
		w.until(21 * time.Second)
		require.Equal(t, sec(10, 15, 20), w.sent())
		w.forget(o)
	})
}

func TestAFailureLeavesAnEarlierSendInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(ctx context.Context, n int, _ *call) ([]bool, error) {
			switch n {
			case 1:
				return w.deaf(18*time.Second, all(true, 1), nil)
			case 2:
				return w.deaf(17*time.Second, nil, errDown)
			default:
				return hang(ctx)
			}
		}
		w.keep(o, w.renewed())
		w.until(18 * time.Second)
		require.Equal(t, 10*time.Second+trust, w.trusted(o))
		w.until(20 * time.Second)
		require.Equal(t, sec(10, 15, 17.5), w.sent())
		w.forget(o)
	})
}
