package watchdog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/watchdog"
)

func TestSoonAfterTheLastTicketNothingIsArmed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		require.True(t, w.dog.AtRest(), "before anything was kept")
		o, p := w.owner(0), w.owner(0)
		w.keep(o, w.renewed())
		w.keep(p, w.checked(time.Minute))
		w.until(2 * time.Second)
		w.forget(o)
		require.Equal(t, every, w.dog.Armed(w.start))
		w.forget(p)
		w.until(2*time.Second + watchdog.Rest)
		require.True(t, w.dog.AtRest())
		w.forget(p) // twice does no harm
		w.forget(w.owner(0))
		require.True(t, w.dog.AtRest())
		w.until(time.Hour)
		require.Empty(t, w.sent())
		require.Empty(t, o.lost())
	})
}

// Setting a timer is cheap for the caller and costs the process a thread that is woken in vain.
func TestTicketsThatComeAndGoLeaveTheTimerAlone(t *testing.T) {
	for name, terms := range map[string]func(w *world) watchdog.Terms{
		"renewed":       (*world).renewed,
		"a short lease": func(w *world) watchdog.Terms { return w.checked(watchdog.Rest) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				o := w.owner(0)
				w.keep(o, terms(w))
				w.forget(o)
				armed := w.dog.Armed(w.start)
				for at := time.Duration(0); at < armed; at += time.Millisecond {
					w.until(at)
					w.keep(o, terms(w))
					require.Equal(t, armed, w.dog.Armed(w.start), "kept at %v", at)
					w.forget(o)
					require.Equal(t, armed, w.dog.Armed(w.start), "forgotten at %v", at)
				}
			})
		})
	}
}

func TestATicketKeptWhileTheTimerRunsOutIsSentInTime(t *testing.T) {
	for _, kept := range []time.Duration{watchdog.Rest - 1, watchdog.Rest, watchdog.Rest + 1} {
		inBubble(t, func(t *testing.T, w *world) {
			o := w.owner(0)
			w.keep(o, w.renewed())
			w.forget(o)
			w.until(kept)
			w.keep(o, w.renewed())
			w.until(kept + 2*every)
			require.Equal(t, []time.Duration{kept + every, kept + 2*every}, w.sent())
			w.forget(o)
		})
	}
}

// A send is in flight from 10 s and answers at 12 s; the ticket is forgotten before, with and after the answer.
func TestAnswersAboutAForgottenTicketAreIgnored(t *testing.T) {
	answers := map[string]struct {
		alive []bool
		err   error
	}{
		"alive":     {alive: all(true, 1)},
		"not alive": {alive: all(false, 1)},
		"error":     {err: errDown},
	}
	for name, a := range answers {
		for _, forgotten := range sec(9.999, 10, 11, 11.999) {
			t.Run(name+" after forgetting at "+forgotten.String(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					o := w.owner(0)
					w.answer = func(context.Context, int, *call) ([]bool, error) {
						return w.deaf(12*time.Second, a.alive, a.err)
					}
					w.keep(o, w.renewed())
					w.until(forgotten)
					w.forget(o)
					w.until(time.Hour)
					require.Empty(t, o.lost())
					require.Equal(t, trust, w.trusted(o))
					if forgotten < 10*time.Second {
						require.Empty(t, w.sent())
					} else {
						require.Equal(t, sec(10), w.sent())
						require.Equal(t, forgotten, w.call(1).ended)
					}
				})
			})
		}
	}
}

// The same, with the same memory kept again before the answer comes.
func TestAnswersToAnEarlierRegistrationAreIgnored(t *testing.T) {
	for name, alive := range map[string]bool{"alive": true, "not alive": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				o := w.owner(0)
				w.answer = func(_ context.Context, n int, _ *call) ([]bool, error) {
					if n == 1 {
						return w.deaf(12*time.Second, all(alive, 1), nil)
					}
					return all(true, 1), nil
				}
				w.keep(o, w.renewed())
				w.until(11 * time.Second)
				w.forget(o)
				terms := w.renewed()
				terms.Trusted = w.start.Add(30 * time.Second) // less than the answer would give
				w.keep(o, terms)
				w.until(12 * time.Second)
				require.Equal(t, 30*time.Second, w.trusted(o))
				w.until(25 * time.Second)
				require.Empty(t, o.lost())
				require.Len(t, w.sent(), 2)
				w.forget(o)
			})
		})
	}
}

func TestATicketForgottenWhileItsBatchIsAskedForIsNotSent(t *testing.T) {
	for _, again := range []bool{false, true} {
		inBubble(t, func(t *testing.T, w *world) {
			o := w.owner(0)
			o.onBatch = func() {
				w.forget(o)
				if again {
					o.onBatch = nil
					w.keep(o, w.renewed())
				}
			}
			w.keep(o, w.renewed())
			w.until(15 * time.Second)
			require.Zero(t, w.sends.Load(), "a Send of nothing knows no server to go to")
			w.forget(o)
		})
	}
}

func TestASendIsCancelledOnlyWhenNoneOfItsTicketsCares(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o, p := w.owner(0), w.owner(0)
		w.answer = func(ctx context.Context, _ int, _ *call) ([]bool, error) { return hang(ctx) }
		w.keep(o, w.renewed())
		w.keep(p, w.renewed())
		w.until(11 * time.Second)
		w.forget(o)
		w.until(12 * time.Second)
		require.EqualValues(t, -1, w.call(1).ended)
		w.until(16 * time.Second)
		require.Equal(t, []*owner{p}, w.call(2).owners)
		w.forget(p)
		require.Equal(t, 16*time.Second, w.call(1).ended)
		require.Equal(t, 16*time.Second, w.call(2).ended)
	})
}

func TestForgettingAnswersForTheOthersInTheBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o, p, q := w.owner(0), w.owner(0), w.owner(0)
		w.answer = func(_ context.Context, _ int, c *call) ([]bool, error) {
			alive := make([]bool, len(c.owners))
			for i, o := range c.owners {
				alive[i] = o != q
			}
			return w.deaf(w.now()+time.Second, alive, nil)
		}
		for _, o := range []*owner{o, p, q} {
			w.keep(o, w.renewed())
		}
		w.until(10 * time.Second)
		w.forget(o)
		w.until(11 * time.Second)
		require.Equal(t, 10*time.Second+trust, w.trusted(p))
		require.Equal(t, []loss{{11 * time.Second, watchdog.NotOwned, nil}}, q.lost())
		require.Equal(t, trust, w.trusted(o))
		w.forget(p)
	})
}

func TestNoLostBeginsAfterForget(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.renewed())
		w.dog.LoseAndForget(&o.Ticket)
		require.Empty(t, o.lost())
	})
}

func TestATicketLostCanBeForgottenAndKeptAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(_ context.Context, n int, _ *call) ([]bool, error) { return all(n > 1, 1), nil }
		w.keep(o, w.renewed())
		w.until(10 * time.Second)
		require.Len(t, o.lost(), 1)
		w.forget(o)
		w.keep(o, w.renewed())
		w.until(25 * time.Second)
		require.Equal(t, 20*time.Second+trust, w.trusted(o))
		require.Len(t, o.lost(), 1)
		w.forget(o)
	})
}

func TestMisusePanicsWithASentence(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.keep(o, w.renewed())
		require.PanicsWithValue(t, "watchdog: the ticket is kept already; use Change", func() { w.keep(o, w.renewed()) })
		w.forget(o)
		const other = "watchdog: a ticket stays with the owner and the watchdog of its first Keep; give each owner its own"
		require.PanicsWithValue(t, other, func() { w.dog.Keep(&o.Ticket, w.owner(0), w.renewed()) })
		require.PanicsWithValue(t, other, func() { watchdog.New(w.send).Keep(&o.Ticket, o, w.renewed()) })
	})
}

func TestATicketNeverKeptIsNotTrusted(t *testing.T) {
	check := func(t *testing.T) {
		var ticket watchdog.Ticket
		require.False(t, ticket.TrustedUntil().After(time.Now()))
		require.Zero(t, ticket.Lease(time.Now()))
	}
	check(t)
	synctest.Test(t, check) // whose clock is behind the one of this process's beginning
}

func TestATicketLostAndKeptAgainWithoutForgettingIgnoresOldAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(_ context.Context, n int, _ *call) ([]bool, error) {
			switch n {
			case 1:
				return w.deaf(17*time.Second, all(false, 1), nil)
			case 2:
				return w.deaf(16*time.Second, all(false, 1), nil)
			default:
				return all(true, 1), nil
			}
		}
		w.keep(o, w.renewed())
		w.until(16 * time.Second)
		require.Len(t, o.lost(), 1)
		w.keep(o, w.renewed())
		w.until(time.Minute)
		require.Len(t, o.lost(), 1)
		w.forget(o)
	})
}

func TestKeepingAgainBeginsWithoutOldFailures(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(context.Context, int, *call) ([]bool, error) { return nil, errDown }
		w.keep(o, w.renewed())
		w.until(13 * time.Second)
		w.forget(o)
		w.keep(o, w.renewed())
		w.until(26 * time.Second)
		require.Equal(t, sec(10, 10.5, 11.5, 23, 23.5, 24.5), w.sent())
		w.forget(o)
	})
}

func TestKeepingAgainDoesNotCountOldSendsInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		o := w.owner(0)
		w.answer = func(_ context.Context, _ int, _ *call) ([]bool, error) {
			return w.deaf(time.Hour, nil, errDown)
		}
		w.keep(o, w.renewed())
		w.until(21 * time.Second)
		w.forget(o)
		w.keep(o, w.renewed())
		w.until(42 * time.Second)
		require.Equal(t, sec(10, 15, 20, 31, 36, 41), w.sent())
		w.forget(o)
		w.until(2 * time.Hour)
	})
}
