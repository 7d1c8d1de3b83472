package locking_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/locking"
)

// round has these take and give back in turn for a second, and tells how often.
func (k *kit) round(busy ...*baselock.Base) (sections int) {
	var all sync.WaitGroup
	stop := make(chan struct{})
	for _, b := range busy {
		all.Go(func() {
			k.hog(b, stop, func() {
				sections++ // under the lock
				time.Sleep(time.Millisecond)
			})
		})
		time.Sleep(time.Microsecond)
	}
	time.Sleep(time.Second)
	close(stop)
	all.Wait()
	return sections
}

// hog takes the lock, does its work and gives it back, again and again until stop.
func (k *kit) hog(b *baselock.Base, stop <-chan struct{}, work func()) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		h, err := locking.Lock(k.ctx, b, nil)
		if err != nil {
			k.Error(err)
			return
		}
		work()
		_ = h.Unlock(k.ctx)
	}
}

func TestALockThatOnlyTheRowWantsIsNeverFree(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		sections := k.round(k.another().Base, k.another().Base, k.another().Base)
		t.Logf("%d sections, %d passes, %d released", sections, k.passes(), k.sent("release"))
		require.Greater(t, sections, 900)
		require.GreaterOrEqual(t, k.passes(), sections-10)
	})
}

// Redisson's waiters sit in no row, and a JVM needs a while from the message to its question.
func TestWhoSitsInNoRowMeetsTheLockFreeNowAndThen(t *testing.T) {
	for what, busy := range map[string]func(k *kit) []*baselock.Base{
		"three processes": func(k *kit) []*baselock.Base {
			return []*baselock.Base{k.another().Base, k.another().Base, k.another().Base}
		},
		"three of one process": func(k *kit) []*baselock.Base {
			b := k.another().Base
			return []*baselock.Base{b, b, b}
		},
		"two of one, two of another": func(k *kit) []*baselock.Base {
			a, b := k.another().Base, k.another().Base
			return []*baselock.Base{a, b, a, b}
		},
	} {
		t.Run(what, func(t *testing.T) { meetsTheLockFree(t, busy) })
	}
}

func meetsTheLockFree(t *testing.T, busy func(k *kit) []*baselock.Base) {
	inBubble(t, func(t *testing.T, k *kit) {
		messages := k.honest.Subscribe(k.ctx, keys.LockChannel(name))
		_, err := messages.Receive(k.ctx)
		require.NoError(t, err)
		free, got := 0, 0
		outsider := k.foreign()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := messages.ReceiveMessage(k.ctx); err != nil {
					return
				}
				free++
				time.Sleep(2 * time.Millisecond)
				if h, err := locking.TryLock(k.ctx, outsider, nil); err == nil {
					got++
					_ = h.Unlock(k.ctx)
				}
			}
		}()
		sections := k.round(busy(k)...)
		require.NoError(t, messages.Close())
		<-ended
		t.Logf("%d sections, free %d times, and got %d times", sections, free, got)
		require.Greater(t, sections, 500)
		require.GreaterOrEqual(t, got, 10, "every 40 ms")
	})
}

// Where it is not known who listens, a lock that has gone round for a while is set free for everybody, but not again and
// again: whoever sits in the row may be too far away to ask before the busy process does.
func TestABusyProcessGoesOnToPassALockWhoseListenersAreNotKnown(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.said = []redlatch.ClientOption{redlatch.WithCluster(), redlatch.WithShardedPubSub(false)}
		near, far := k.another(), k.another()
		stop := make(chan struct{})
		var all sync.WaitGroup
		turns := 0
		all.Go(func() {
			k.hog(far.Base, stop, func() {
				turns++
				k.slow(far, 2*time.Millisecond)
			})
		})
		sections := k.round(near.Base, near.Base, near.Base)
		close(stop)
		all.Wait()
		t.Logf("%d sections, %d turns of the one far away, %d passes", sections, turns, k.passes())
		require.Greater(t, turns, 30)
	})
}
