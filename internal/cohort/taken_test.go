package cohort

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// askTaken is a grant that asks about the lock as an owner does that a reader joins, while the queue is locked.
type askTaken struct{ ask func() }

func (g askTaken) Beside(any) any { g.ask(); return nil }

// One goroutine locks the queue and asks what was taken. Another has locked the registry and waits for the queue.
func TestWhatWasTakenIsAnsweredWhileTheRegistryIsLocked(t *testing.T) {
	r, key := bare(), KeyFor("lock", "")
	c, _, part := r.Join(key, deaf)
	r.Take(KeyFor("another", ""))
	for range 2 {
		w, _ := c.join(&Request{Who: "a reader", Expected: true, Poll: far})
		defer c.leave(w, false)
	}
	claim, ok := c.Claim()
	require.True(t, ok)
	answered, asked := make(chan bool, 1), false
	grant := askTaken{func() {
		asked = true
		other := make(chan struct{})
		go func() {
			defer close(other)
			r.Busy(key, true)
		}()
		for r.mu.TryLock() { // until the other goroutine has it, and waits for the queue
			r.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
		select {
		case <-other:
			t.Error("the registry is not locked")
		default:
		}
		go func() { answered <- r.Taken(key, time.Now()) }()
		select {
		case taken := <-answered:
			require.False(t, taken)
		case <-time.After(10 * time.Second):
			t.Error("Taken waits for the registry, whose mutex waits for the queue")
		}
	}}
	require.True(t, claim.Give(grant, far))
	require.True(t, asked)
	part()
}

func TestOneTakingCostsTheHandOffsNothingAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, key, other := bare(), KeyFor("lock", ""), KeyFor("other", "")
		require.False(t, r.Taken(key, time.Now()))
		news := time.Now()
		r.Take(key)
		require.True(t, r.Taken(key, news))
		require.False(t, r.Taken(other, news))
		time.Sleep(40 * time.Second)
		r.Take(other)
		time.Sleep(40 * time.Second)
		require.True(t, r.taken.any.Load(), "the second is young enough")
		require.True(t, r.Taken(other, news))
		time.Sleep(40 * time.Second)
		r.Taken(key, time.Now())
		require.False(t, r.taken.any.Load(), "the next hand-off would take a mutex for nothing")
		require.Empty(t, r.taken.at)
		r.Take(key)
		require.True(t, r.Taken(key, news))
	})
}
