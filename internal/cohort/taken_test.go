package cohort

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// One goroutine locks the queue and asks what was taken. Another has locked the registry and waits for the queue.
func TestWhatWasTakenIsAnsweredWhileTheRegistryIsLocked(t *testing.T) {
	r, key := bare(), KeyFor("lock", "")
	c, _, part := r.Join(key, deaf)
	defer part()
	r.Take()
	w, _ := c.join(&Request{Who: "a reader", Expected: true, Poll: far})
	defer c.leave(w, false)
	answered, other := make(chan bool, 1), make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
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
	go func() { answered <- r.Taken(time.Now()) }()
	select {
	case taken := <-answered:
		require.False(t, taken)
	case <-time.After(10 * time.Second):
		t.Error("Taken waits for the registry, whose mutex waits for the queue")
	}
}

func TestWhatWasConfirmedBeforeATakingIsOldNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, news := bare(), time.Now()
		require.False(t, r.Taken(news))
		r.Take()
		require.True(t, r.Taken(news))
		time.Sleep(time.Millisecond)
		require.False(t, r.Taken(time.Now()))
	})
}
