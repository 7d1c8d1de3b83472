package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
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
