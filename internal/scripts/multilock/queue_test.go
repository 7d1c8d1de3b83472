package multilock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/multilock"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A release tells one process, which waits for the same values, in the order in which they came; and all where others listen.
func TestAReleaseTellsTheFirstProcessInTheQueue(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		b := newBench(t, srv) // it listens to the wake channel
		ctx := t.Context()
		queue := []string{"queue:{g}"}
		first, second, gone := "s1:1", "s2:1", "s3:1"
		told := b.client.Subscribe(ctx, "queue:{g}:s1", "queue:{g}:s2", "queue:{g}:known")
		t.Cleanup(func() { _ = told.Close() })
		for range 3 {
			_, err := told.ReceiveTimeout(ctx, 30*time.Second)
			require.NoError(t, err)
		}
		hears := func(candidate string) {
			t.Helper()
			event, err := told.ReceiveTimeout(ctx, 30*time.Second)
			require.NoError(t, err)
			m, ok := row.Read(event.(*redis.Message).Payload)
			require.True(t, ok && m.Looks)
			require.Equal(t, candidate, m.Owner)
		}
		waits := func(candidate string) {
			t.Helper()
			require.False(t, send(b, multilock.Enlist(group, candidate, ab, lease, queue, time.Minute)).Held)
			time.Sleep(2 * time.Millisecond) // places are whole milliseconds
		}
		stand := func() []string {
			return b.client.ZRangeArgs(ctx, redis.ZRangeArgs{Key: queue[0], Start: "0", Stop: "inf", ByScore: true}).Val()
		}
		release := func(owner string, want row.Release) {
			t.Helper()
			require.Equal(t, want, send(b, multilock.Release(group, owner, ab, wake, queue)))
		}
		alone := row.Release{Freed: true, Told: true}

		require.True(t, send(b, multilock.Acquire(group, x, ab, lease)).Held)
		waits(gone)
		waits(first)
		waits(second)
		waits(first)
		require.Equal(t, []string{gone, first, second}, stand(), "asking again keeps the place")
		release(x, alone)
		hears(first)
		require.Equal(t, []string{second}, stand(), "whose process is gone leaves")
		require.Empty(t, b.heard(), "no more listen than are known")

		require.True(t, send(b, multilock.Acquire(group, x, ab, lease)).Held)
		release(first, row.Release{}) // it was told, and does not want it any more
		hears(second)
		require.Empty(t, stand())
		release(second, row.Release{})
		require.Len(t, b.heard(), 1, "who waits for some of the values is told when the last one does not want them")
		waits(second)
		release(second, row.Release{})
		require.Empty(t, stand(), "one that was not told leaves the queue")

		outsider := b.client.Subscribe(ctx, channel)
		t.Cleanup(func() { _ = outsider.Close() })
		_, err := outsider.ReceiveTimeout(ctx, 30*time.Second)
		require.NoError(t, err)
		waits(second)
		release(x, alone)
		hears(second)
		require.Len(t, b.heard(), 1, "the outsider hears too")

		require.True(t, send(b, multilock.Enlist(group, second, ab, lease, queue, time.Minute)).Held)
		require.Empty(t, stand())
		release(second, row.Release{Freed: true})
		require.Len(t, b.heard(), 1, "nobody is in the queue")
	})
}
