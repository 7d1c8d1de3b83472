package redlock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// The head of a local queue may leave at the moment at which the first server has granted it the vote.
func TestAVoteThatNobodyUsesIsGivenBack(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		server, _ := redistest.InMemory(t)
		client := redis.NewClient(redistest.InMemoryOptions(server))
		t.Cleanup(func() { _ = client.Close() })
		lock := New([]redlatch.Client{client}, "orders:42", redlatch.WithLinger(0))
		c, err := lock.resolve(nil, false)
		require.NoError(t, err)
		over := make(chan struct{})
		v := c.stand(t.Context(), func() { close(over) })
		<-over
		require.NoError(t, v.err)
		require.True(t, server.Exists("orders:42"))
		v.abandon()
		hold, err := lock.Lock(t.Context(), redlatch.WithWait(time.Second))
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(t.Context()))
		require.False(t, server.Exists("orders:42"))
	})
}

// It would be the chair for nobody, although it has answered.
func TestAHoldThatIsLostDoesNotMakeItsServerDown(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		server, _ := redistest.InMemory(t)
		client := redis.NewClient(redistest.InMemoryOptions(server))
		t.Cleanup(func() { _ = client.Close() })
		lock := New([]redlatch.Client{client}, "orders:42", redlatch.WithLinger(0))
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		server.Del("orders:42")
		_, err = lock.TryLock(hold.Context(t.Context()))
		require.ErrorIs(t, err, redlatch.ErrLost)
		require.False(t, lock.nodes[0].base.Session.Down.Load())
		require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrLost)
	})
}
