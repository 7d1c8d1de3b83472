package cohort_test

import (
	"context"
	"math/rand"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A baton has one holder at a time. The holder gives it to the first waiter, or puts it down and wakes the queue.
type baton struct {
	l *cohort.Queue

	mu      sync.Mutex
	random  *rand.Rand
	lying   bool
	promise bool // its holder will give it on or wake the queue
	holders int
	most    int
	order   []int // its holders
	asked   int
}

func newBaton(seed int64) *baton {
	return &baton{l: cohort.NewQueue(confirmed), random: rand.New(rand.NewSource(seed)), lying: true}
}

func (b *baton) dice(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.random.Intn(n)
}

func (b *baton) pause() { time.Sleep(time.Duration(b.dice(3)) * time.Millisecond) }

func (b *baton) attempt(context.Context) (cohort.Verdict, error) {
	b.pause()
	b.mu.Lock()
	b.asked++
	had := b.lying
	if had {
		b.lying, b.promise = false, true
	}
	b.mu.Unlock()
	b.pause()
	return cohort.Verdict{Done: had, Sleep: 1000 * time.Hour}, nil // only wake-ups move the queue
}

func (b *baton) take(ctx context.Context, who int) bool {
	b.mu.Lock()
	offer := &cohort.Request{Who: who, Expected: b.promise, Poll: 1000 * time.Hour}
	b.mu.Unlock()
	if b.dice(4) == 0 {
		offer = nil
	}
	if b.l.WaitFor(ctx, patience, offer, b.attempt) != nil {
		return false
	}
	b.mu.Lock()
	b.holders++
	b.most = max(b.most, b.holders)
	b.order = append(b.order, who)
	b.mu.Unlock()
	b.pause()
	b.put(who)
	return true
}

// put passes the baton on, or puts it down.
func (b *baton) put(who int) {
	if who >= 0 {
		b.mu.Lock()
		b.holders--
		b.mu.Unlock()
	}
	claim, ok := b.l.Claim()
	b.pause()
	switch {
	case ok && b.dice(4) > 0:
		if !claim.Give(who, 1000*time.Hour) {
			b.put(-1)
		}
		return
	case ok && b.dice(2) == 0:
		claim.Refuse()
	case ok:
		claim.Yield()
	}
	b.mu.Lock()
	b.lying = true
	b.mu.Unlock()
	b.pause()
	b.mu.Lock()
	b.promise = b.promise && !b.lying // an attempt may have picked it up
	b.mu.Unlock()
	b.l.Wake()
}

// Waiters come, leave, give and refuse at the same instant. The baton never has two holders, and does not lie there while a
// waiter waits.
func TestWhatIsGivenFromHandToHandIsNeverLostNorDoubled(t *testing.T) {
	rounds := redistest.Rounds(50, 400)
	given := 0
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) {
			b := newBaton(int64(seed))
			var cancels []context.CancelFunc
			for who := range 60 {
				ctx, cancel := context.WithCancel(t.Context())
				cancels = append(cancels, cancel)
				go b.take(ctx, who)
				if b.dice(3) == 0 {
					go cancels[b.dice(len(cancels))]()
				}
				b.pause()
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, 1, b.most, "seed %d", seed)
			require.Zero(t, b.l.Len(), "seed %d: they wait", seed)
			require.True(t, b.lying, "seed %d: it is lost", seed)
			given += len(b.order) - b.asked
			for _, cancel := range cancels {
				cancel()
			}
			b.l.Stop()
		})
	}
	require.NotZero(t, given)
}

func TestAWaiterThatExpectsAHandOffAsksAfterThePollInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- l.WaitFor(ctx, patience, &cohort.Request{Expected: true, Poll: 7 * time.Second}, r.attempt(t, "a"))
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []time.Duration{7 * time.Second}, r.times, "it is the head from then on, and its schedule holds")
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestAnAttemptUnderWayIsNotClaimedNorOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(1)
		r.during = func() {
			_, ok := l.Claim()
			require.False(t, ok)
		}
		require.NoError(t, l.WaitFor(t.Context(), patience, &cohort.Request{}, r.attempt(t, "a")))
		require.Equal(t, []string{"a"}, r.log())
	})
}

// A claimed waiter asks as soon as the claim is refused, and not before.
func TestAClaimedWaiterDoesNotAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		go func() { _ = l.WaitFor(t.Context(), patience, &cohort.Request{Who: "a"}, r.attempt(t, "a")) }()
		time.Sleep(time.Minute)
		claim, ok := l.Claim()
		require.True(t, ok)
		require.Equal(t, "a", claim.Who())
		_, again := l.Claim()
		require.False(t, again)
		l.Wake()
		time.Sleep(2 * time.Hour)
		synctest.Wait() // its own sleep may have ended at the same moment
		require.Equal(t, []string{"a"}, r.log(), "once, when it came")
		claim.Refuse()
		synctest.Wait()
		require.Equal(t, []string{"a", "a"}, r.log())
		claim, _ = l.Claim()
		claim.Refuse()
		synctest.Wait()
		require.Equal(t, []string{"a", "a", "a"}, r.log(), "also without other news")
		claim, _ = l.Claim()
		require.True(t, claim.Give(nil, time.Hour))
	})
}

// The time of the head's attempt, or a wake-up, may come while the head is claimed. It does not come again, so the end of the
// claim must make the head ask: after a wake-up at once.
func TestAWaiterAsksAfterAClaimDuringWhichItShouldHaveAsked(t *testing.T) {
	for what, passes := range map[string]func(l *cohort.Queue){
		"its time":           func(*cohort.Queue) { time.Sleep(2 * time.Minute) },
		"news":               func(l *cohort.Queue) { l.Wake(); synctest.Wait() },
		"news, not seen yet": func(l *cohort.Queue) { l.Wake() },
		"news, a while ago":  func(l *cohort.Queue) { l.Wake(); time.Sleep(time.Second) },
	} {
		for how, end := range map[string]func(cohort.Claim){"yielded": cohort.Claim.Yield, "ended": cohort.Claim.End} {
			t.Run(what+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l, r := cohort.NewQueue(confirmed), newThing(0)
					r.sleep = time.Minute
					done := make(chan error, 1)
					ctx, cancel := context.WithCancel(t.Context())
					go func() { done <- l.WaitFor(ctx, patience, &cohort.Request{}, r.attempt(t, "a")) }()
					synctest.Wait()
					claim, ok := l.Claim()
					require.True(t, ok)
					passes(l)
					require.Len(t, r.log(), 1, "it is claimed")
					end(claim)
					if what == "its time" {
						time.Sleep(time.Second)
					}
					synctest.Wait()
					require.Equal(t, []string{"a", "a"}, r.log())
					cancel()
					require.ErrorIs(t, <-done, context.Canceled)
					l.Stop()
				})
			})
		}
	}
}

func TestYieldIsToldToTheNextAttemptOnceAndDoesNotDelayIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		var told []bool
		r.during = func() { told = append(told, l.Yields()) }
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_ = l.WaitFor(ctx, patience, &cohort.Request{Expected: true, Poll: 7 * time.Second}, r.attempt(t, "a"))
		}()
		time.Sleep(3 * time.Second)
		claim, ok := l.Claim()
		require.True(t, ok)
		claim.Yield()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []time.Duration{7 * time.Second}, r.times)
		l.Wake()
		synctest.Wait()
		require.Equal(t, []bool{true, false}, told)
		cancel()
	})
}

func TestAnAttemptThatRefreshesAnswersForTheNewsThatCameDuringIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		r.during = func() { l.Wake(); l.Refresh() }
		ctx, cancel := context.WithCancel(t.Context())
		r.wait(t, l, ctx, "a")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"a"}, r.log())
		cancel()
	})
}

func TestEachWaiterThatExpectsAHandOffInVainAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		for _, who := range []string{"a", "b"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_ = l.WaitFor(ctx, patience, &cohort.Request{Expected: true, Poll: 7 * time.Second}, r.attempt(t, who))
			cancel()
		}
		require.Equal(t, []time.Duration{7 * time.Second, time.Minute + 7*time.Second}, r.times)
	})
}

// A waiter that was given the thing may end without giving it on or waking the queue.
func TestTheNextWaiterAsksWhenWhatWasGivenIsNotGivenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		first := make(chan error, 1)
		go func() { first <- l.WaitFor(t.Context(), patience, &cohort.Request{}, r.attempt(t, "a")) }()
		synctest.Wait()
		second := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { second <- l.WaitFor(ctx, patience, &cohort.Request{}, r.attempt(t, "b")) }()
		synctest.Wait()
		time.Sleep(time.Second)
		claim, ok := l.Claim()
		require.True(t, ok)
		require.True(t, claim.Give(nil, 7*time.Second))
		require.NoError(t, <-first)
		require.Error(t, <-second)
		require.Equal(t, []string{"a", "b"}, r.log())
		require.Equal(t, 8*time.Second, r.times[1])
	})
}

func TestAWaiterThatExpectsAHandOffDoesNotAskWhenTheOneBeforeItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(0)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 2)
		for _, ctx := range []context.Context{ctx, t.Context()} {
			go func() {
				results <- l.WaitFor(ctx, patience, &cohort.Request{Expected: true, Poll: time.Hour}, r.attempt(t, "a waiter"))
			}()
			synctest.Wait()
		}
		cancel()
		require.ErrorIs(t, <-results, context.Canceled)
		synctest.Wait()
		require.Empty(t, r.log())
		claim, ok := l.Claim()
		require.True(t, ok)
		require.True(t, claim.Give(nil, time.Hour))
		require.NoError(t, <-results)
		l.Stop()
	})
}

func TestNewsThatCameDuringAClaimAreForTheNextWaiter(t *testing.T) {
	for what, look := range map[string]func(){"seen": synctest.Wait, "not seen yet": func() {}} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, r := cohort.NewQueue(confirmed), newThing(0)
				first := make(chan error, 1)
				go func() { first <- l.WaitFor(t.Context(), patience, &cohort.Request{}, r.attempt(t, "a")) }()
				synctest.Wait()
				second := make(chan error, 1)
				go func() { second <- l.WaitFor(t.Context(), patience, &cohort.Request{}, r.attempt(t, "b")) }()
				synctest.Wait()
				claim, _ := l.Claim()
				r.give(l, 1)
				look()
				require.True(t, claim.Give(nil, time.Hour))
				require.NoError(t, <-first)
				require.NoError(t, <-second)
				require.Equal(t, []string{"a", "b"}, r.log())
				require.Zero(t, r.times[1], "at once")
			})
		})
	}
}

func TestNewsThatCameJustBeforeTheWaiterAreNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(confirmed), newThing(1)
		l.Wake() // the holder has put it down right after the waiter was told to expect a hand-off
		require.NoError(t, l.WaitFor(t.Context(), patience, &cohort.Request{Expected: true, Poll: time.Hour}, r.attempt(t, "a")))
		require.Zero(t, r.times[0])
	})
}
