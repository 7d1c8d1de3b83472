package locking_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func down(string) fault { return fault{refused: true} }

func TestUnlockIsBoundedAndGoesOnInTheBackground(t *testing.T) {
	for name, ctx := range map[string]func(*kit) context.Context{
		"cancellable": func(k *kit) context.Context { return k.ctx },
		"background":  func(*kit) context.Context { return context.Background() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				h := k.take(k.lock(redlatch.WithReleaseTimeout(3*time.Second)), k.ctx)
				k.faults(down)
				err := h.Unlock(ctx(k))
				require.Error(t, err)
				require.NotErrorIs(t, err, redlatch.ErrLost)
				require.LessOrEqual(t, time.Since(k.start), 3*time.Second)
				require.Greater(t, time.Since(k.start), 2*time.Second, "it tried for as long as it may")
				k.at(10 * time.Second)
				require.True(t, k.locked())
				k.faults(nil)
				time.Sleep(2*time.Second + 100*time.Millisecond)
				require.False(t, k.locked())
				require.Zero(t, k.sent("renew"), "nobody renews what is being given back")
				time.Sleep(3 * time.Minute)
				require.Equal(t, 1, k.told(redlatch.EventSettled))
			})
		})
	}
}

// However long that is.
func TestAReleaseGoesOnUntilTheLeaseIsOver(t *testing.T) {
	for what, take := range map[string]func(k *kit) *redlatch.Hold{
		"fixed": func(k *kit) *redlatch.Hold { return k.take(k.lock(), k.ctx, redlatch.WithLease(time.Hour)) },
		"extended": func(k *kit) *redlatch.Hold {
			h := k.take(k.lock(), k.ctx)
			require.NoError(k, h.Extend(k.ctx, time.Hour))
			return h
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				h := take(k)
				k.faults(down)
				require.Error(t, h.Unlock(k.ctx))
				k.at(50 * time.Minute)
				k.faults(nil)
				time.Sleep(2*time.Second + 100*time.Millisecond)
				require.False(t, k.locked())
			})
		})
	}
}

// A release that the server will never execute is not repeated until a lease of years is over, but for as long as a ghost of
// the owner may come.
func TestAReleaseThatTheServerWillNeverExecuteIsRepeatedForAMinute(t *testing.T) {
	for what, never := range map[string]func(k *kit){
		"something else has the name": func(k *kit) { require.NoError(k, k.honest.Set(k.ctx, name, "something else", 0).Err()) },
		"it knows no scripts":         func(k *kit) { k.faults(func(op string) fault { return fault{unknown: op == "release"} }) },
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				log := make(lines, 10)
				b := k.lock(redlatch.WithReleaseTimeout(time.Second), redlatch.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
				h := k.take(b, k.ctx, redlatch.WithLease(1000*time.Hour))
				k.faults(down)
				require.Error(t, h.Unlock(k.ctx))
				k.faults(nil)
				never(k)
				k.at(100 * time.Second)
				synctest.Wait()
				require.Len(t, log, 1)
				line := <-log
				require.Contains(t, line, "could not be settled")
				require.Contains(t, line, h.Owner())
				require.Contains(t, line, "ForceUnlock")
				sent := k.sent("release")
				k.at(time.Hour)
				require.Equal(t, sent, k.sent("release"))
				require.Empty(t, log)
				k.mini.Del(name)
			})
		})
	}
}

// The time in which Unlock waits for an earlier command of the same owner is part of its limit.
func TestUnlockAfterAReentryWithoutAnAnswerIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(redlatch.WithReleaseTimeout(3*time.Second)), k.ctx)
		k.faults(func(op string) fault {
			if op == "recount" {
				return fault{before: time.Second, lost: true}
			}
			return fault{refused: true}
		})
		ctx, cancel := context.WithTimeout(h.Context(k.ctx), time.Millisecond)
		defer cancel()
		_, err := locking.Lock(ctx, k.lock(), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		start := time.Now()
		require.Error(t, h.Unlock(k.ctx))
		require.LessOrEqual(t, time.Since(start), 3*time.Second)
	})
}

// lines are what a logger writes.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func TestWhatCouldNotBeSettledIsLogged(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		log := make(lines, 10)
		h := k.take(k.lock(redlatch.WithLogger(slog.New(slog.NewTextHandler(log, nil)))), k.ctx)
		k.faults(down)
		require.Error(t, h.Unlock(k.ctx))
		require.Empty(t, log)
		k.mini.Del(name) // as when its lease is over
		line := <-log
		require.Contains(t, line, "could not be settled")
		require.Contains(t, line, h.Owner())
	})
}

// The message is the last step of a release. Sent again, that finds nothing to release, which is no loss.
func TestUnlockByAUserWhoMayNotPublishSaysSo(t *testing.T) {
	server := redistest.Process(t)
	admin := server.Client(t)
	for what, rule := range map[string]string{"on the channel": "resetchannels", "at all": "-publish"} {
		for kindOf, kind := range map[string]baselock.Kind{"plain": locking.Plain(), "handing over": plain} {
			t.Run(what+", "+kindOf, func(t *testing.T) {
				ctx := t.Context()
				client := server.User(t, rule)
				h, err := locking.Lock(ctx, baselock.New(client, name, &kind, []redlatch.Option{briefly.Linger(0)}), nil)
				require.NoError(t, err)
				err = h.Unlock(ctx)
				var refusal redis.Error // the server's own words differ from version to version
				require.ErrorAs(t, err, &refusal)
				require.NotErrorIs(t, err, redlatch.ErrLost)
				require.Zero(t, admin.Exists(ctx, name).Val())
			})
		}
	}
}

func TestUnlockAgainstASilentServerEndsAtItsTimeLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(redlatch.WithReleaseTimeout(2*time.Second)), k.ctx)
		k.at(5 * time.Second)
		k.harm("release", 1, fault{before: time.Minute})
		err := h.Unlock(k.ctx)
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		require.Equal(t, 7*time.Second, time.Since(k.start))
		k.at(8 * time.Second)
		require.False(t, k.locked(), "settled by another connection")
	})
}

func TestAReleaseThatIsNotConfirmedIsTriedSoonAlsoAfterAnOlderDoubt(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.harm("acquire", 1, fault{lost: true}) // in doubt, and settled at intervals that grow to half a minute
		h := k.take(k.lock(redlatch.WithReleaseTimeout(time.Second)), k.ctx)
		k.at(33 * time.Second)
		k.faults(down)
		require.Error(t, h.Unlock(k.ctx))
		k.at(35 * time.Second)
		k.faults(nil)
		k.at(37*time.Second + 100*time.Millisecond)
		require.False(t, k.locked())
	})
}

func TestAHoldIsNotRenewedWhileItsReleaseWaitsForItsTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock(redlatch.WithReleaseTimeout(time.Second))
		outer := k.take(b, k.ctx)
		k.harm("recount", 1, fault{before: 5 * time.Minute, refused: true})
		ctx, cancel := context.WithTimeout(context.WithoutCancel(outer.Context(k.ctx)), time.Second)
		defer cancel()
		_, err := locking.Lock(ctx, b, nil)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorIs(t, outer.Unlock(k.ctx), redlatch.ErrUncertain)
		require.Equal(t, 2*time.Second, time.Since(k.start))
		k.at(time.Minute)
		require.False(t, k.locked(), "the lease has run out")
		k.at(6 * time.Minute) // when the command ends
	})
}

// A fixed lease is not renewed, whoever needed that before and could not be given back in time.
func TestAFixedLeaseIsNotRenewedWhileTheReleaseOfARenewedHoldWaitsForItsTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock(redlatch.WithReleaseTimeout(time.Second))
		outer := k.take(b, k.ctx, redlatch.WithLease(time.Minute))
		inner := k.take(b, outer.Context(k.ctx))
		k.harm("recount", 1, fault{before: 5 * time.Second, refused: true})
		extended := make(chan error)
		go func() { extended <- outer.Extend(k.ctx, time.Minute) }()
		synctest.Wait()
		require.ErrorIs(t, inner.Unlock(k.ctx), redlatch.ErrUncertain)
		require.NoError(t, <-extended)
		k.at(70 * time.Second)
		require.False(t, k.locked())
		require.ErrorIs(t, outer.Unlock(k.ctx), redlatch.ErrLost)
	})
}

func TestUnlockOfALostLockSaysSoAlsoIfItWaitsForItsTurnInVain(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock(redlatch.WithReleaseTimeout(time.Second))
		h := k.take(b, k.ctx, redlatch.WithLease(10*time.Second))
		work := h.Context(k.ctx)
		k.at(9 * time.Second)
		k.harm("recount", 1, fault{before: 5 * time.Second, refused: true})
		extended := make(chan error)
		go func() { extended <- h.Extend(k.ctx, time.Minute) }()
		<-work.Done()
		require.ErrorIs(t, h.Unlock(k.ctx), redlatch.ErrLost)
		require.Error(t, <-extended)
	})
}

// Nobody else is to wait for a turn that never comes, and the lock is not to stay taken until its lease is over.
func TestAHookThatPanicsDuringAReleaseHoldsUpNothing(t *testing.T) {
	for name, harm := range map[string]fault{
		"before it": {before: 100 * time.Millisecond, panics: true}, "after it": {after: 100 * time.Millisecond, dies: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lock()
				h := k.take(b, k.ctx)
				inner := k.take(b, h.Context(k.ctx))
				k.harm("recount", 1, harm)
				require.Panics(t, func() { _ = inner.Unlock(k.ctx) })
				time.Sleep(500 * time.Millisecond)
				require.Equal(t, 1, k.count(h.Owner()))

				k.harm("release", 1, harm)
				extended := make(chan error, 1)
				go func() {
					time.Sleep(50 * time.Millisecond)
					extended <- h.Extend(context.Background(), time.Minute)
				}()
				require.Panics(t, func() { _ = h.Unlock(k.ctx) })
				require.ErrorIs(t, <-extended, redlatch.ErrReleased)
				time.Sleep(time.Second)
				require.False(t, k.locked())
			})
		})
	}
}

// The lock is not to stay taken until its lease is over, on whichever goroutine the command runs.
func TestWhatWasGrantedWhileAHookPanickedIsGivenBack(t *testing.T) {
	for name, mayEnd := range map[string]bool{"a context that ends": true, "one that does not": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lock()
				ctx := context.Background()
				if mayEnd {
					ctx = k.ctx
				}
				warm, err := locking.Lock(ctx, b, nil)
				require.NoError(t, err)
				require.NoError(t, warm.Unlock(ctx))
				k.harm("acquire", 1, fault{after: 100 * time.Millisecond, dies: true})
				require.Panics(t, func() { _, _ = locking.Lock(ctx, b, nil) })
				require.True(t, k.locked())
				time.Sleep(time.Second)
				require.False(t, k.locked())
			})
		})
	}
}

// Who recovers from the panic has no hold that it could give back.
func TestWhatAnObserverPanicsAtIsGivenBack(t *testing.T) {
	for how, end := range map[string]func(){"panic": func() { panic("an observer") }, "Goexit": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lock(redlatch.WithWatchdogTimeout(time.Minute))
				harmful := redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
					if e.Kind == redlatch.EventAcquired {
						end()
					}
				}))
				ask := func(ctx context.Context) {
					over := make(chan any)
					go func() {
						defer func() { over <- recover() }()
						_, _ = locking.Lock(ctx, b, []redlatch.Option{harmful})
						t.Error("the observer did not end it")
					}()
					<-over
				}
				ask(k.ctx)
				require.False(t, k.locked())

				outer := k.take(b, k.ctx, redlatch.WithLease(5*time.Minute))
				ask(outer.Context(k.ctx))
				require.Equal(t, 1, k.count(outer.Owner()))
				time.Sleep(2 * time.Minute)
				require.Equal(t, 3*time.Minute, k.mini.TTL(name))
				require.NoError(t, outer.Unlock(k.ctx))
				require.False(t, k.locked())
			})
		})
	}
}

func TestOutstandingHoldsKeepWhatAReleaseCouldNotGiveBack(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock(redlatch.WithReleaseTimeout(time.Second))
		outer := k.take(b, k.ctx)
		inner := k.take(b, outer.Context(k.ctx))
		k.faults(down)
		require.Error(t, inner.Unlock(k.ctx))
		require.Equal(t, 2, k.count(outer.Owner()))
		k.faults(nil)
		time.Sleep(10 * time.Second)
		require.Equal(t, 1, k.count(outer.Owner()))
		require.True(t, outer.Valid())
		require.NoError(t, outer.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

func TestAReleaseAfterALossIsStillSent(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx)
		work := h.Context(k.ctx)
		k.faults(func(op string) fault { return fault{refused: op == "renew"} })
		<-work.Done()
		require.True(t, k.locked(), "by the clock the server still has it")
		require.ErrorIs(t, h.Unlock(k.ctx), redlatch.ErrLost)
		require.False(t, k.locked())
	})
}

// Somebody made the key persistent. Giving back one hold of several must not end the others.
func TestAPartialReleaseLeavesAKeyWithoutTTLAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx)
		inner := k.take(b, outer.Context(k.ctx))
		third := k.take(b, outer.Context(k.ctx))
		require.NoError(t, k.honest.Persist(k.ctx, name).Err())
		require.NoError(t, inner.Unlock(k.ctx))
		time.Sleep(time.Second)
		require.Equal(t, 2, k.count(outer.Owner()))
		k.harm("recount", 1, fault{lost: true}) // and neither must settling
		require.NoError(t, third.Unlock(k.ctx))
		time.Sleep(5 * time.Second)
		require.Equal(t, 1, k.count(outer.Owner()))
		k.at(15 * time.Second)
		require.Equal(t, 25*time.Second, k.mini.TTL(name), "the renewal gave it an end again")
	})
}
