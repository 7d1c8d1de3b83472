package cohort_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

const patience = 3 * time.Second

// confirmed is what a queue with a working subscription is given.
func confirmed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// A thing is what the waiters want: units to be had one by one, and a record of the attempts and their times.
type thing struct {
	mu     sync.Mutex
	units  int
	busy   bool
	asked  []string
	times  []time.Duration // since the start
	start  time.Time
	sleep  time.Duration
	err    error
	during func() // runs within an attempt
}

func newThing(units int) *thing { return &thing{units: units, start: time.Now(), sleep: time.Hour} }

func (r *thing) attempt(t *testing.T, who string) func(context.Context) (cohort.Verdict, error) {
	return func(context.Context) (cohort.Verdict, error) {
		r.mu.Lock()
		require.False(t, r.busy, "two attempts at once")
		r.busy = true
		r.asked = append(r.asked, who)
		r.times = append(r.times, time.Since(r.start))
		during := r.during
		r.mu.Unlock()
		if during != nil {
			during()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy = false
		if r.err != nil {
			return cohort.Verdict{}, r.err
		}
		if r.units == 0 {
			return cohort.Verdict{Sleep: r.sleep}, nil
		}
		r.units--
		return cohort.Verdict{Done: true, More: r.units > 0, Sleep: r.sleep}, nil
	}
}

func (r *thing) log() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// give frees n units and wakes the queue.
func (r *thing) give(l *cohort.Queue, n int) {
	r.mu.Lock()
	r.units += n
	r.mu.Unlock()
	l.Wake()
}

// wait starts a waiter and returns where its result arrives.
func (r *thing) wait(t *testing.T, l *cohort.Queue, ctx context.Context, who string) <-chan error {
	result := make(chan error, 1)
	go func() { result <- l.WaitFor(ctx, patience, nil, r.attempt(t, who)) }()
	synctest.Wait() // it is in the queue, and asks or sleeps
	return result
}

func TestWaitersAreServedInTheOrderOfTheirArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		var results []<-chan error
		for _, who := range []string{"a", "b", "c", "d"} {
			results = append(results, r.wait(t, l, t.Context(), who))
		}
		require.Equal(t, []string{"a"}, r.log(), "only the head asks")
		require.Equal(t, 4, l.Len())
		for _, result := range results {
			r.give(l, 1)
			require.NoError(t, <-result)
		}
		require.Equal(t, []string{"a", "a", "b", "c", "d"}, r.log())
		require.Zero(t, l.Len())
	})
}

func TestAHeadSleepsExactlyAsLongAsItsAttemptSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		r.sleep = 700 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.ErrorIs(t, l.WaitFor(ctx, patience, nil, r.attempt(t, "a")), context.DeadlineExceeded)
		require.Equal(t, []time.Duration{0, 700e6, 1400e6, 2100e6, 2800e6}, r.times)
		require.Equal(t, 3*time.Second, time.Since(r.start))
	})
}

func TestAWakeUpMakesTheHeadAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		ctx, cancel := context.WithCancel(t.Context())
		result := r.wait(t, l, ctx, "a")
		time.Sleep(5 * time.Second)
		l.Wake()
		synctest.Wait()
		require.Equal(t, []time.Duration{0, 5 * time.Second}, r.times)
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
	})
}

func TestWakeUpsDuringAnAttemptAreFollowedByOneMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		once := true
		r.during = func() {
			if once {
				once = false
				time.Sleep(time.Second) // the reply says "taken", and then come the releases
				for range 100 {
					l.Wake()
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.Error(t, l.WaitFor(ctx, patience, nil, r.attempt(t, "a")))
		require.Equal(t, []time.Duration{0, time.Second}, r.times)
	})
}

func TestTheFirstAttemptWaitsForTheConfirmationOfWakeUpsButNotLongerThanPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		l, r := cohort.NewQueue(func() <-chan struct{} { return open }), newThing(1)
		result := r.wait(t, l, t.Context(), "a")
		require.Empty(t, r.log())
		time.Sleep(time.Second)
		close(open)
		require.NoError(t, <-result)
		require.Equal(t, []time.Duration{time.Second}, r.times)
	})
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		l, r := cohort.NewQueue(func() <-chan struct{} { return never }), newThing(1)
		require.NoError(t, l.WaitFor(t.Context(), patience, nil, r.attempt(t, "a")))
		require.Equal(t, []time.Duration{patience}, r.times)
	})
}

// The message of a release between that attempt and the confirmation does not arrive.
func TestAnAttemptBeforeTheConfirmationOfWakeUpsIsFollowedByOneAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		l, r := cohort.NewQueue(func() <-chan struct{} { return open }), newThing(0)
		result := r.wait(t, l, t.Context(), "a")
		l.Wake() // not by a message
		synctest.Wait()
		require.Equal(t, []string{"a"}, r.log())
		r.mu.Lock()
		r.units = 1
		r.mu.Unlock()
		time.Sleep(time.Second)
		close(open)
		require.NoError(t, <-result)
		require.Equal(t, []time.Duration{0, time.Second}, r.times)
	})
}

func TestAQueueWithoutWakeUpsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(nil), newThing(0)
		r.sleep = time.Second
		time.AfterFunc(1500*time.Millisecond, func() { r.mu.Lock(); r.units = 1; r.mu.Unlock() })
		require.NoError(t, l.WaitFor(t.Context(), patience, nil, r.attempt(t, "a")))
		require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second}, r.times)
	})
}

func TestMoreLetsTheNextWaiterAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		var results []<-chan error
		for _, who := range []string{"a", "b", "c", "d"} {
			results = append(results, r.wait(t, l, t.Context(), who))
		}
		r.give(l, 3)
		synctest.Wait()
		require.Equal(t, []string{"a", "a", "b", "c"}, r.log())
		for _, result := range results[:3] {
			require.NoError(t, <-result)
		}
		require.Equal(t, 1, l.Len(), "the last one sleeps: there was no more")
		r.give(l, 1)
		require.NoError(t, <-results[3])
	})
}

func TestWithoutMoreTheSuccessorKeepsTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		r.sleep = 10 * time.Second
		a, b := r.wait(t, l, t.Context(), "a"), r.wait(t, l, t.Context(), "b")
		time.Sleep(4 * time.Second)
		r.give(l, 1)
		require.NoError(t, <-a)
		r.mu.Lock()
		r.units = 1 // without a wake-up
		r.mu.Unlock()
		require.NoError(t, <-b)
		require.Equal(t, []time.Duration{0, 4 * time.Second, 14 * time.Second}, r.times)
	})
}

func TestOneAttemptCanServeAllWaitersThatWereThereWhenItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := cohort.NewQueue(confirmed), time.Now()
		open, began := make(chan struct{}), 0
		attempt := func(context.Context) (cohort.Verdict, error) {
			began++
			if began == 1 {
				return cohort.Verdict{Sleep: time.Hour}, nil
			}
			<-open
			return cohort.Verdict{Done: true, All: true}, nil
		}
		results := make(chan error, 5)
		enter := func() { go func() { results <- l.WaitFor(t.Context(), patience, nil, attempt) }(); synctest.Wait() }
		for range 4 {
			enter()
		}
		l.Wake()
		synctest.Wait() // the head asks
		enter()         // one more, too late for that attempt
		close(open)
		for range 5 {
			require.NoError(t, <-results)
		}
		require.Equal(t, 3, began, "the late one asked for itself, the others did not")
		require.Zero(t, time.Since(start), "and at once")
		require.Zero(t, l.Len())
	})
}

func TestAHeadThatLeavesAsleepPassesOnItsPlaceAndNotItsWakeUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		ctx, cancel := context.WithCancel(t.Context())
		a, b := r.wait(t, l, ctx, "a"), r.wait(t, l, t.Context(), "b")
		cancel()
		require.ErrorIs(t, <-a, context.Canceled)
		synctest.Wait()
		require.Equal(t, []string{"a"}, r.log(), "nothing happened that b should ask about")
		r.give(l, 1)
		require.NoError(t, <-b)
	})
}

func TestAWaiterThatLeavesBeforeItsTurnDisturbsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		ctx, cancel := context.WithCancel(t.Context())
		a, b, c := r.wait(t, l, t.Context(), "a"), r.wait(t, l, ctx, "b"), r.wait(t, l, t.Context(), "c")
		cancel()
		require.ErrorIs(t, <-b, context.Canceled)
		require.Equal(t, 2, l.Len())
		r.give(l, 2)
		require.NoError(t, <-a)
		require.NoError(t, <-c)
		require.Equal(t, []string{"a", "a", "c"}, r.log())
	})
}

func TestAnAttemptThatFailsLetsTheSuccessorAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		a, b := r.wait(t, l, t.Context(), "a"), r.wait(t, l, t.Context(), "b")
		broken := errors.New("broken")
		r.during = func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.asked[len(r.asked)-1] == "a" {
				r.err = broken // the attempt consumed the wake-up and has no answer
			} else {
				r.err = nil
			}
		}
		r.give(l, 1)
		require.ErrorIs(t, <-a, broken)
		require.NoError(t, <-b)
		require.Zero(t, time.Since(r.start))
	})
}

// A waiter becomes the head at the moment at which its context ends. It is chance which of the two it sees first, hence the
// rounds. The waiter behind it must ask at once either way, because the wake-up that the failed attempt consumed is still
// without an answer.
func TestAWaiterWhoseContextEndsAsItIsPromotedPassesOnTheUnansweredWakeUp(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			l, r := cohort.NewQueue(confirmed), newThing(0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			broken := errors.New("broken")
			a, b, c := r.wait(t, l, t.Context(), "a"), r.wait(t, l, ctx, "b"), r.wait(t, l, t.Context(), "c")
			r.during = func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				if r.asked[len(r.asked)-1] == "a" {
					r.err = broken
					time.AfterFunc(time.Nanosecond, cancel) // at the instant at which the attempt ends
					r.mu.Unlock()
					time.Sleep(time.Nanosecond)
					r.mu.Lock()
				} else {
					r.err = nil
				}
			}
			r.give(l, 1)
			require.ErrorIs(t, <-a, broken)
			if <-b == nil { // it was the head before its context had ended
				r.give(l, 1)
			}
			require.NoError(t, <-c)
			require.Less(t, time.Since(r.start), time.Second, "c slept although there was something to ask about")
		})
	}
}

// The same without chance: the context of the new head ends before its first attempt.
func TestAHeadThatLeavesBeforeItsFirstAttemptLeavesThatAttemptToItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(1)
		r.sleep = time.Hour
		require.NoError(t, l.WaitFor(t.Context(), patience, nil, r.attempt(t, "first"))) // the schedule is now an hour ahead
		r.give(l, 1)
		broken := errors.New("broken")
		r.err = broken
		require.ErrorIs(t, l.WaitFor(t.Context(), patience, nil, r.attempt(t, "failing")), broken) // consumed the wake-up
		r.err = nil
		over, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, l.WaitFor(over, patience, nil, r.attempt(t, "over")), context.Canceled)
		require.NoError(t, l.WaitFor(t.Context(), patience, nil, r.attempt(t, "last")))
		require.Zero(t, time.Since(r.start), "the last one slept through a wake-up that no attempt had answered")
	})
}

func TestAnAttemptThatPanicsDoesNotBlockTheQueue(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("a hook of the client") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, r := cohort.NewQueue(confirmed), newThing(0)
				attempts := 0
				over := make(chan struct{})
				go func() {
					defer close(over)
					defer func() { _ = recover() }() // as an HTTP server does
					_ = l.WaitFor(t.Context(), patience, nil, func(context.Context) (cohort.Verdict, error) {
						if attempts++; attempts == 2 {
							end()
						}
						return cohort.Verdict{Sleep: time.Hour}, nil
					})
				}()
				synctest.Wait()
				b := r.wait(t, l, t.Context(), "b")
				r.give(l, 1)
				<-over
				require.NoError(t, <-b)
				require.Zero(t, time.Since(r.start), "the wake-up has no answer")
				require.Zero(t, l.Len())
			})
		})
	}
}
