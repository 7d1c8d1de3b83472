package suite_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

// A composite tells of itself. The members of a multi-lock keep what their own New says, and the servers of a redlock tell nothing.
func TestOptionsOfLongTimesOfACompositeAreNotItsMembers(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		var whole, member slowness
		a, b := rlock.New(client, "a", redlatch.WithLongHold(time.Second), member.option()), rlock.New(client, "b")
		hold := acquired(t, multilock.New([]redlatch.Locker{a, b}, redlatch.WithLongHold(3*time.Second), redlatch.WithSlowWait(time.Hour), whole.option()))
		var log page
		red := acquired(t, redlock.New([]redlatch.Client{client}, "red", redlatch.WithLongHold(3*time.Second), member.option(),
			redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))) // the logger is the servers' too
		time.Sleep(2 * time.Second)
		require.Equal(t, "a", member.one(t).Name)
		time.Sleep(2 * time.Second)
		require.Equal(t, []any{redlatch.KindMultiLock, 3 * time.Second}, []any{whole.one(t).Primitive, whole.one(t).Duration})
		require.Len(t, member.all(), 2)
		require.Equal(t, redlatch.KindRedlock, member.all()[1].Primitive)
		require.Equal(t, 1, strings.Count(log.String(), "held for long"), log.String())
		require.NoError(t, hold.Unlock(t.Context()))
		require.NoError(t, red.Unlock(t.Context()))
	})
}

// A permit of this process is held for long; a plain semaphore and a latch have no holds.
func TestALongHoldIsToldOf(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		for kind, lock := range locks(client) {
			var seen slowness
			hold := acquired(t, lock, redlatch.WithLongHold(time.Second), seen.option())
			time.Sleep(time.Hour / 2)
			e := seen.one(t)
			require.Equal(t, []any{redlatch.EventLongHold, redlatch.Kind(kind), lock.Name(), hold.Owner(), time.Second}, []any{e.Kind, e.Primitive, e.Name, e.Owner, e.Duration})
			require.NoError(t, hold.Unlock(t.Context()))

			var short slowness
			hold = acquired(t, lock, redlatch.WithLongHold(time.Second), short.option())
			time.Sleep(time.Second - time.Millisecond)
			require.NoError(t, hold.Unlock(t.Context()))
			time.Sleep(time.Hour)
			require.Empty(t, short.all())
		}
		var seen slowness
		permits := permitsemaphore.New(client, "permits")
		yes(t, call(permits.TrySetPermits(t.Context(), 1)))
		permit, err := permits.Acquire(t.Context(), 1, redlatch.WithLongHold(time.Second), seen.option())
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, permit.IDs()[0], seen.one(t).Owner)
		require.NoError(t, permit.Release(t.Context()))
		err = semaphore.New(client, "pool").Acquire(t.Context(), 1, redlatch.WithLongHold(time.Second))
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.ErrorContains(t, err, "WithLongHold does not apply")
	})
}
