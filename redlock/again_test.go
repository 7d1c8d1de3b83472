package redlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlock"
)

// slow has the third server answer each command after d.
func (b *trio) slow(d time.Duration) {
	b.harm[2] = func() error { time.Sleep(d); return nil }
}

// holds are how often each server says that the lock is held.
func (b *trio) holds() (counts [3]string) {
	for i, server := range b.servers {
		if fields, err := server.HKeys(name); err == nil && len(fields) == 1 {
			counts[i] = server.HGet(name, fields[0])
		}
	}
	return counts
}

// A server whose answer for the outer hold comes later would refuse the re-entry, and the inner hold would stand on a
// bare majority for as long as it lives.
func TestAReentryMadeAtOnceStandsOnTheServerThatAnswersLate(t *testing.T) {
	for what, opts := range map[string][]redlatch.Option{"bare": nil, "with a wait": {redlatch.WithWait(time.Second)}} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *trio) {
				b.slow(5 * time.Millisecond)
				lock, ctx := b.lock(), b.Context()
				outer, err := lock.Lock(ctx, opts...)
				require.NoError(b, err)
				inner, err := lock.Lock(outer.Context(ctx), opts...)
				require.NoError(b, err)
				innermost, err := lock.TryLock(inner.Context(ctx))
				require.NoError(b, err)
				time.Sleep(time.Second)
				require.Equal(b, [3]string{"3", "3", "3"}, b.holds())
				b.harm[1] = forbidden // one of the other two is gone
				count, err := lock.HoldCount(innermost.Context(ctx))
				require.NoError(b, err)
				require.EqualValues(b, 3, count)
				time.Sleep(time.Minute) // two of three renew it
				for _, hold := range []*redlatch.Hold{outer, inner, innermost} {
					require.True(b, hold.Valid())
				}
				b.harm[1] = nil
				for _, hold := range []*redlatch.Hold{innermost, inner, outer} {
					_ = hold.Unlock(ctx)
				}
				time.Sleep(time.Minute)
				require.Equal(b, [3]string{}, b.holds())
			})
		})
	}
}

func TestALateServerStandsByWhatIsLeftOfItsReentries(t *testing.T) {
	for what, test := range map[string]struct {
		unlocks func(outer, inner *redlatch.Hold) *redlatch.Hold
		left    string
	}{
		"the inner one is unlocked": {func(_, inner *redlatch.Hold) *redlatch.Hold { return inner }, "1"},
		"the outer one is unlocked": {func(outer, _ *redlatch.Hold) *redlatch.Hold { return outer }, "1"},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *trio) {
				b.slow(5 * time.Millisecond)
				lock, ctx := b.lock(), b.Context()
				outer, err := lock.Lock(ctx)
				require.NoError(b, err)
				inner, err := lock.Lock(outer.Context(ctx))
				require.NoError(b, err)
				require.NoError(b, test.unlocks(outer, inner).Unlock(ctx))
				time.Sleep(time.Second)
				require.Equal(b, [3]string{test.left, test.left, test.left}, b.holds())
				_, _ = outer.Unlock(ctx), inner.Unlock(ctx)
				time.Sleep(time.Second)
				require.Equal(b, [3]string{}, b.holds())
			})
		})
	}
}

// What the caller's context does after the lock is held must not take the late servers away from it.
func TestAServerThatAnswersLateJoinsAlthoughTheContextOfTheCallHasEnded(t *testing.T) {
	inBubble(t, func(b *trio) {
		b.slow(5 * time.Millisecond)
		ctx, cancel := context.WithCancel(b.Context())
		hold, err := b.lock().Lock(ctx)
		require.NoError(b, err)
		cancel()
		time.Sleep(time.Second)
		require.Equal(b, [3]string{"1", "1", "1"}, b.holds())
		require.NoError(b, hold.Unlock(b.Context()))
		time.Sleep(time.Minute)
		require.Equal(b, [3]string{}, b.holds())
	})
}

// A re-entry that needs the server which has not answered the outer hold waits for that answer, and if the outer hold is
// over by then also for the release of what it got. A server that hangs then takes one more node timeout, and not the
// time that a release may take.
func TestAReentryWaitsForAServerNoLongerThanNodeTimeouts(t *testing.T) {
	const nodeTimeout = 100 * time.Millisecond
	inBubble(t, func(b *trio) {
		lock, ctx := b.lock(redlock.WithNodeTimeout(nodeTimeout), redlatch.WithReleaseTimeout(time.Minute)), b.Context()
		warm, err := lock.Lock(ctx)
		require.NoError(b, err)
		time.Sleep(time.Second)
		require.NoError(b, warm.Unlock(ctx)) // the servers know the scripts
		time.Sleep(time.Second)
		synctest.Wait()
		var delay atomic.Int64
		delay.Store(int64(50 * time.Millisecond))
		b.harm[2] = func() error { time.Sleep(time.Duration(delay.Load())); return nil }
		outer, err := lock.Lock(ctx)
		require.NoError(b, err)
		synctest.Wait()
		b.harm[1] = forbidden
		start, inner := time.Now(), make(chan error)
		go func() {
			_, err := lock.TryLock(context.WithoutCancel(outer.Context(ctx))) // which does not end with the outer hold
			inner <- err
		}()
		time.Sleep(10 * time.Millisecond)
		go func() { _ = outer.Unlock(ctx) }() // so that what the slow server grants is given back
		synctest.Wait()
		delay.Store(int64(30 * time.Second))
		require.Error(b, <-inner, "one of the three has granted it")
		require.LessOrEqual(b, time.Since(start), 3*nodeTimeout, "the outer hold's attempt, the release, the attempt")
		delay.Store(0)
		time.Sleep(3 * time.Minute)
		require.Equal(b, [3]string{}, b.holds())
	})
}

// A server that answers after the decision counts like the others: two of three may be lost only after it is.
func TestAServerThatJoinedLateMayBeLostAgain(t *testing.T) {
	for what, test := range map[string]struct {
		lost []int // servers, one after another
		ends bool
	}{
		"the late one alone":                {[]int{2}, false},
		"another one, the late one is left": {[]int{0}, false},
		"the late one and another":          {[]int{2, 0}, true},
		"another one and the late one":      {[]int{1, 2}, true},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *trio) {
				b.slow(5 * time.Millisecond)
				ctx := b.Context()
				hold, err := b.lock().Lock(ctx)
				require.NoError(b, err)
				time.Sleep(time.Second)
				require.Equal(b, [3]string{"1", "1", "1"}, b.holds(), "the late one has joined")
				work := hold.Context(ctx)
				for _, i := range test.lost {
					require.True(b, hold.Valid())
					b.servers[i].Del(name)
					time.Sleep(12 * time.Second) // a renewal finds it out, before the trust of the hold ends
				}
				require.Equal(b, !test.ends, hold.Valid())
				require.Equal(b, !test.ends, work.Err() == nil)
				err = hold.Unlock(ctx)
				if test.ends {
					require.ErrorIs(b, err, redlatch.ErrLost)
				} else {
					require.NoError(b, err)
				}
				time.Sleep(time.Minute)
				require.Equal(b, [3]string{}, b.holds())
			})
		})
	}
}
