package parallel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// What a round looks for at its end has to be found while it is there.
func TestWhatASessionKeepsIsSeen(t *testing.T) {
	client, set := redistest.Mini(t).Client(t), settings.Defaults()
	s := session.Of(client, &set)
	require.Empty(t, remains(s))
	lock := rlock.New(client, "seen")
	hold, err := lock.Lock(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		_, _ = lock.Lock(ctx)
	}()
	want := []string{"Cohorts.cohorts: 1", "Cohorts.holders: 1", "Watchdog.kept: 1", "hub.channels: 3", "hub.shards: 1"}
	redistest.Eventually(t, "the waiter listens", func() bool { return len(remains(s)) == len(want) })
	require.Equal(t, want, remains(s))
	cancel()
	<-waits
	require.NoError(t, hold.Unlock(t.Context()))
}

// The watch has to say so when calls stand still, and nothing else.
func TestCallsThatStandStillAreFound(t *testing.T) {
	w := watch{bounds: bounds{client: 10, call: 20}}
	for client := range 2 {
		for range 2 {
			c := &caller{}
			c.client.Store(int32(client))
			c.began.Store(-1)
			w.calls = append(w.calls, c)
		}
	}
	what := "Lock"
	w.rounds.Store(100)
	require.Empty(t, w.still(), "nobody calls")
	stuck := w.calls[3]
	stuck.what.Store(&what)
	stuck.began.Store(100)
	stuck.ended.Store(100)
	w.rounds.Store(110)
	require.Empty(t, w.still())
	w.rounds.Store(111)
	require.Contains(t, w.still(), "no call of client 1 has ended in 11 rounds")
	w.calls[2].ended.Store(111)
	require.Empty(t, w.still(), "another call of the client has ended")
	w.rounds.Store(121)
	require.Contains(t, w.still(), "a call of client 1 (goroutine 3: Lock) has not ended in 21 rounds")
}
