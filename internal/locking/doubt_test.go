package locking_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/scripts"
)

// What becomes of a seat when a command that may have taken it has no answer.

func TestAQuestionOfUnknownOutcomeLeavesNoSeatBehind(t *testing.T) {
	for what, f := range map[string]fault{
		"the answer is lost":     {lost: true},
		"executed a while later": {ghost: 20 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				first := k.take(k.lock(), k.ctx)
				ctx, cancel := context.WithTimeout(k.ctx, 10*time.Second)
				defer cancel()
				asked := 0
				k.faults(func(op string) fault {
					if op != "acquire" {
						return fault{}
					}
					if asked++; asked != 2 { // the second is the one that sits down
						return fault{}
					}
					return f
				})
				_, err := locking.Lock(ctx, k.another().Base, nil)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				k.faults(nil)
				time.Sleep(2 * time.Minute)
				require.Zero(t, k.seats())
				require.Equal(t, 1, k.count(first.Owner()))
				require.NoError(t, first.Unlock(k.ctx))
				require.False(t, k.locked())
			})
		})
	}
}

// The first send of a question is executed when nobody thinks of it any more, whatever became of the second.
func TestTheGhostOfAQuestionIsGivenBackAgain(t *testing.T) {
	for what, second := range map[string]fault{
		"the second is answered":   {},
		"its waiter leaves before": {after: 5 * time.Second},
	} {
		for _, free := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, the lock is free: %v", what, free), func(t *testing.T) {
				inBubble(t, func(t *testing.T, k *kit) {
					first := k.take(k.lock(), k.ctx)
					ctx, cancel := context.WithCancel(k.ctx)
					waiter := k.wait(k.another().Base, ctx)
					if free {
						k.mini.Del(name) // without a message
					}
					before, sends := k.sent("acquire"), 0
					k.faults(func(op string) fault {
						if op != "acquire" {
							return fault{}
						}
						switch sends++; sends {
						case 1:
							return fault{ghost: 20 * time.Second}
						case 2:
							return second
						}
						return fault{}
					})
					for k.sent("acquire") < before+2 {
						time.Sleep(time.Millisecond)
					}
					asked := time.Since(k.start)
					cancel()
					if got := <-waiter; got.err == nil {
						require.NoError(t, got.hold.Unlock(k.ctx))
					}
					if !free {
						require.NoError(t, first.Unlock(k.ctx))
					}
					k.at(asked + 15*time.Second)
					require.False(t, k.locked())
					k.at(asked + 20*time.Second)
					require.True(t, k.locked(), "the ghost has it")
					k.at(asked + 45*time.Second) // the pauses double
					require.False(t, k.locked(), "its lease has 5 s to go")
				})
			})
		}
	}
}

// What became of the first send is settled for a minute, and must not be what the waiter holds by.
func TestWhoseQuestionWasRefusedInDoubtHoldsBySomethingElse(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		second := k.wait(k.another().Base, k.ctx)
		asked := k.sent("acquire")
		k.harm("acquire", 1, fault{lost: true})
		k.at(4 * time.Second) // beyond a poll
		require.Greater(t, k.sent("acquire"), asked+1)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		time.Sleep(2 * time.Minute)
		require.True(t, got.hold.Valid())
		require.Equal(t, 1, k.count(got.hold.Owner()))
	})
}

// The same after a question whose waiter has left: the next in line asks while the first send is being settled.
func TestWhoComesAfterAQuestionOfUnknownOutcomeHoldsBySomethingElse(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		ctx, cancel := context.WithCancel(k.ctx)
		waiter := k.another()
		second, third := k.wait(waiter.Base, ctx), k.wait(waiter.Base, k.ctx)
		asked := k.sent("acquire")
		k.harm("acquire", 1, fault{after: 100 * time.Millisecond, lost: true})
		for k.sent("acquire") == asked {
			time.Sleep(time.Millisecond)
		}
		cancel()
		require.ErrorIs(t, (<-second).err, context.Canceled)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-third
		require.NoError(t, got.err)
		time.Sleep(2 * time.Minute)
		require.True(t, got.hold.Valid())
		require.Equal(t, 1, k.count(got.hold.Owner()))
	})
}

func TestAHookThatPanicsAfterAQuestionLeavesNoSeatBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		asked := 0
		k.faults(func(op string) fault {
			if op == "acquire" {
				asked++
			}
			return fault{dies: asked == 2} // the one that sits down
		})
		require.Panics(t, func() { _, _ = locking.Lock(context.Background(), k.another().Base, nil) })
		k.faults(nil)
		time.Sleep(2 * time.Second)
		require.Zero(t, k.seats(), "the lock would be passed to it")
		require.NoError(t, first.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

// What becomes of the seat is settled for a minute, and must not be what the next in line holds by.
func TestWhoComesAfterAHookThatPanickedDuringAQuestionHasASeatOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		waiter := k.another(redlatch.WithPoll(10 * time.Second))
		panicked := make(chan any)
		go func() {
			defer func() { panicked <- recover() }()
			_, _ = locking.Lock(context.Background(), waiter.Base, nil)
		}()
		synctest.Wait()
		second := k.wait(waiter.Base, k.ctx)
		k.harm("acquire", 1, fault{dies: true})
		require.NotNil(t, <-panicked)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		time.Sleep(2 * time.Minute)
		require.True(t, got.hold.Valid())
		require.Equal(t, 1, k.count(got.hold.Owner()))
	})
}

// The seat is taken by a send of which that is not known: the next one finds nothing more to do, or there is none. If nobody
// waits by then the lock would be passed to nobody.
func TestASeatOfAReleaseThatIsNotConfirmedIsGivenUp(t *testing.T) {
	for what, c := range map[string]struct {
		fault fault
		err   error
	}{
		"its message is refused": {fault{mute: true}, errMute},
		"its answer is lost":     {fault{lost: true}, nil},
		"it is not answered":     {fault{after: 10 * time.Second}, redlatch.ErrUncertain},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				mine := k.lock(redlatch.WithReleaseTimeout(500 * time.Millisecond))
				first := k.take(mine, k.ctx)
				ctx, cancel := context.WithCancel(k.ctx)
				second := k.wait(mine, ctx)
				if c.fault.mute { // no message is sent where no other process waits
					other := k.wait(k.another().Base, k.ctx)
					defer func() {
						got := <-other
						require.NoError(t, got.err)
						require.NoError(t, got.hold.Unlock(k.ctx))
					}()
				}
				time.Sleep(20 * time.Millisecond) // longer than a run
				c.fault.before = 10 * time.Millisecond
				k.harm("release", 1, c.fault)
				time.AfterFunc(5*time.Millisecond, cancel)
				require.ErrorIs(t, first.Unlock(k.ctx), c.err)
				require.ErrorIs(t, (<-second).err, context.Canceled)
				synctest.Wait()
				require.Zero(t, k.seats())
			})
		})
	}
}

// The seat is given up at once, and then taken by what was thought to be gone.
func TestASeatThatAReleaseTakesLateIsGivenUpAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		mine := k.lock(redlatch.WithReleaseTimeout(time.Second))
		first := k.take(mine, k.ctx)
		k.wait(mine, k.ctx, redlatch.WithWait(2*time.Second))
		time.Sleep(20 * time.Millisecond) // longer than a run
		sends := 0
		k.faults(func(op string) fault {
			if op != "release" {
				return fault{}
			}
			switch sends++; sends {
			case 1:
				return fault{ghost: 1100 * time.Millisecond}
			case 2:
				return fault{before: 5 * time.Second, refused: true}
			}
			return fault{}
		})
		require.ErrorIs(t, first.Unlock(k.ctx), redlatch.ErrUncertain) // a second later
		require.True(t, k.within(time.Second, func() bool { return k.seats() == 1 }), "the late copy takes the seat")
		require.True(t, k.within(time.Second, func() bool { return k.seats() == 0 }), "and it is given up")
	})
}

// A release must not depend on the answer to a question that could have been asked before.
func TestAClusterIsAskedHowToSendAMessageBeforeAnythingIsTaken(t *testing.T) {
	for what, kind := range map[string]baselock.Kind{"handing over": plain, "releasing": locking.Plain()} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				k.said = []redlatch.ClientOption{redlatch.WithCluster()}
				lock := k.anotherOf(&kind).Base
				silent := func(op string) fault { return fault{refused: op == "pubsub"} }
				k.faults(silent)
				_, err := locking.TryLock(k.ctx, lock, nil)
				require.ErrorIs(t, err, errRefused)
				require.ErrorIs(t, err, redlatch.ErrUnavailable)
				require.False(t, k.locked())
				k.faults(nil)
				first := k.take(lock, k.ctx)
				k.faults(silent)
				require.NoError(t, first.Unlock(k.ctx))
				require.False(t, k.locked())
			})
		})
	}
}

// What became of the release, and who holds now, is not known to the one who released.
func TestAPassOfUnknownOutcomeHappensOnce(t *testing.T) {
	for what, f := range map[string]fault{
		"the answer is lost":     {lost: true},
		"executed a while later": {ghost: 20 * time.Second},
		"executed soon":          {ghost: time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				mine := k.lock()
				first := k.take(mine, k.ctx)
				second, third := k.wait(mine, k.ctx), k.wait(k.another().Base, k.ctx)
				time.Sleep(10 * time.Millisecond)
				k.harm("release", 1, f)
				require.NoError(t, first.Unlock(k.ctx))
				got := <-third
				require.NoError(t, got.err)
				time.Sleep(2 * time.Minute)
				require.True(t, got.hold.Valid())
				require.Equal(t, 1, k.count(got.hold.Owner()))
				require.NoError(t, got.hold.Unlock(k.ctx))
				require.NoError(t, (<-second).err)
			})
		})
	}
}

// The waiters of the process have left, and the command that takes it out of the row fails for longer than one settling takes.
func TestASeatThatCannotBeGivenUpAtOnceIsGivenUpLater(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		ctx, cancel := context.WithCancel(k.ctx)
		waiter := k.wait(k.another(redlatch.WithPoll(time.Hour)).Base, ctx)
		require.EqualValues(t, 1, k.seats())
		k.faults(func(op string) fault { return fault{refused: op == "release"} })
		cancel()
		require.Error(t, (<-waiter).err)
		time.Sleep(5 * time.Second)
		require.EqualValues(t, 1, k.seats())
		k.faults(nil)
		time.Sleep(3 * time.Second) // beyond a pause
		require.Zero(t, k.seats())
		require.NoError(t, first.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

// The goroutine of the call is stopped right before it hands the hold out, as a busy machine may stop it, for longer than the pause
// before a settling. A settling that ran meanwhile would find no live hold, and release the lock.
func TestSettlingDoesNotBeginBeforeTheHoldIsHandedOut(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		const handsOut = ".(*Tenure).Accept"
		settling, stopped := make(chan struct{}, 1), false
		defer clock.Fake(func() time.Duration { // is called with the mutex of the clock: nothing else may read the clock meanwhile
			if !stopped && calledBy(handsOut) {
				stopped = true
				select {
				case <-settling:
				case <-time.After(300 * time.Millisecond):
				}
			}
			return 0
		})()
		kind := plain
		kind.Release = func(s baselock.Subject) scripts.Command[bool] {
			select {
			case settling <- struct{}{}:
			default:
			}
			return plain.Release(s)
		}
		time.Sleep(time.Minute) // no timer of an earlier hold reads the clock any more
		k.harm("acquire", 1, fault{lost: true})
		h := k.take(k.lockOf(&kind, confirmed), k.ctx)
		require.True(t, stopped, "no call of %s reads the clock", handsOut)
		require.Empty(t, settling)
		time.Sleep(time.Minute)
		require.True(t, h.Valid())
		require.Equal(t, 1, k.count(h.Owner()))
		require.NoError(t, h.Unlock(k.ctx))
	})
}

// calledBy tells whether a function whose name ends like that is on the stack.
func calledBy(name string) bool {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}
