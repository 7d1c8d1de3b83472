package redlock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// The head of a local queue may leave at the moment at which the first server has granted it the vote.
func TestAVoteThatNobodyUsesIsGivenBack(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		server, _ := redistest.InMemory(t)
		client := redis.NewClient(redistest.InMemoryOptions(server))
		t.Cleanup(func() { _ = client.Close() })
		lock := New([]redlatch.Client{client}, "orders:42", briefly.Linger(0))
		c, err := lock.resolve(nil, false)
		require.NoError(t, err)
		over := make(chan struct{})
		v := c.awaitVote(t.Context(), func() { close(over) })
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

// late has a server answer after the others.
type late struct{}

func (late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (late) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(time.Millisecond)
		return next(ctx, cmd)
	}
}

func (late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// It would be the chair for nobody, although it has answered.
func TestAHoldThatIsLostDoesNotMakeItsServerDown(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		first, _ := redistest.InMemory(t)
		var clients []redlatch.Client
		for i := range 3 {
			server := first
			if i > 0 {
				server, _ = redistest.InMemory(t)
			}
			options := redistest.InMemoryOptions(server)
			options.Addr = fmt.Sprint("server:", i)
			client := redis.NewClient(options)
			t.Cleanup(func() { _ = client.Close() })
			if i > 0 {
				client.AddHook(late{})
			}
			clients = append(clients, client)
		}
		lock := New(clients, "orders:42", briefly.Linger(0))
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Second) // all three have granted it
		first.Del("orders:42")
		inner, err := lock.TryLock(hold.Context(t.Context()))
		require.NoError(t, err, "two of three have it")
		time.Sleep(time.Second)
		require.False(t, lock.nodes[0].base.Session.Down.Load())
		require.NoError(t, inner.Unlock(t.Context()))
		require.NoError(t, hold.Unlock(t.Context()))
		time.Sleep(time.Second)
	})
}
