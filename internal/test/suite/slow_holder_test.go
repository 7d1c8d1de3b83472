package suite_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

func TestASlowWaitForALockNamesItsHolder(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		began := time.Now()
		owners := map[string]string{}
		require.NoError(t, redlatch.Configure(other, redlatch.WithLabel("blue")))
		for kind, lock := range locks(other) {
			owners[kind] = acquired(t, lock).Owner()
		}
		owners["read_lock"] = owners["write_lock"]
		time.Sleep(2 * time.Second)
		for kind, lock := range locks(client, redlatch.WithPoll(time.Minute)) {
			var seen slowness
			_, err := lock.Lock(t.Context(), redlatch.WithWait(3*time.Second), redlatch.WithSlowWait(2*time.Second), seen.option())
			require.ErrorIs(t, err, redlatch.ErrNotAcquired, kind)
			e := seen.one(t)
			require.NoError(t, e.Err, kind)
			require.EqualValues(t, kind, e.Primitive)
			require.Equal(t, lock.Name(), e.Name)
			require.InDelta(t, 2, e.Duration.Seconds(), 0.1)
			require.NotEmpty(t, e.Holders, kind)
			require.NotEmpty(t, e.Owner, kind)
			for _, h := range e.Holders {
				require.Equal(t, []any{host, os.Getpid(), "blue", false}, []any{h.Host, h.PID, h.Label, h.Own}, kind)
				require.NotEmpty(t, h.Program)
				require.InDelta(t, 0, h.Since.Sub(began).Seconds(), 0.1, kind)
				require.LessOrEqual(t, time.Since(h.Seen), 10*time.Second, kind)
				if owner := owners[kind]; owner != "" {
					require.Equal(t, owner, h.Owner, kind)
					require.Equal(t, owner, e.Owner, kind)
				}
			}
			members := []string{}
			for _, h := range e.Holders {
				members = append(members, h.Member+h.Value+h.Side)
			}
			require.Equal(t, map[string][]string{"multi_lock": {"m1", "m2"}, "redlock": {"1 (in-memory)"}, "group_lock": {"a", "b"}, "write_lock": {"write"}}[kind],
				nothing(members), kind)
		}
	})
}

// nothing is nil for texts that are empty.
func nothing(texts []string) []string {
	if strings.Join(texts, "") == "" {
		return nil
	}
	return texts
}

func TestASlowWaitOnAServerNamesTheHostAndTheLabel(t *testing.T) {
	registered(t)
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		name := srv.Key(t, "orders")
		holder := srv.Client(t)
		require.NoError(t, redlatch.Configure(holder, redlatch.WithLabel("blue")))
		hold := acquired(t, rlock.New(holder, name))
		reader := srv.Client(t)
		await(t, "the entry", func() bool { return len(entries(t, reader, "")) > 0 })
		var log page
		var seen slowness
		ctx, cancel := context.WithCancel(t.Context())
		seen.then = cancel
		_, err := rlock.New(srv.Client(t), name, redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), seen.option()).
			Lock(ctx, redlatch.WithSlowWait(10*time.Millisecond))
		require.ErrorIs(t, err, context.Canceled)
		host, err := os.Hostname()
		require.NoError(t, err)
		e := seen.one(t)
		require.NoError(t, e.Err)
		require.Equal(t, []any{hold.Owner(), host, os.Getpid(), "blue"}, []any{e.Owner, e.Holders[0].Host, e.Holders[0].PID, e.Holders[0].Label})
		require.Contains(t, log.String(), "holder.owner="+hold.Owner()+" holder.host="+host)
		require.Contains(t, log.String(), " holder.label=blue holder.held=")
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestASlowWaitForACounterTellsWhatIsLeft(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		slow, wait := redlatch.WithSlowWait(2*time.Second), redlatch.WithWait(3*time.Second)
		pool := semaphore.New(client, "pool")
		yes(t, call(pool.TrySetPermits(t.Context(), 2)))
		latch := countdownlatch.New(client, "latch")
		yes(t, call(latch.TrySetCount(t.Context(), 3)))
		permits := permitsemaphore.New(client, "permits")
		yes(t, call(permits.TrySetPermits(t.Context(), 1)))
		permit, err := permits.Acquire(t.Context(), 1)
		require.NoError(t, err)
		for _, test := range []struct {
			wait func(opts ...redlatch.Option) error
			want redlatch.Event
		}{
			{func(opts ...redlatch.Option) error { return pool.Acquire(t.Context(), 3, opts...) }, redlatch.Event{Primitive: "semaphore", Permits: 3, Left: 2}},
			{func(opts ...redlatch.Option) error { return latch.Await(t.Context(), opts...) }, redlatch.Event{Primitive: "latch", Left: 3}},
			{func(opts ...redlatch.Option) error { _, err := permits.Acquire(t.Context(), 1, opts...); return err },
				redlatch.Event{Primitive: "permit_semaphore", Permits: 1, Owner: permit.IDs()[0]}},
		} {
			var seen slowness
			require.ErrorIs(t, test.wait(slow, wait, seen.option()), redlatch.ErrNotAcquired)
			e := seen.one(t)
			require.NoError(t, e.Err)
			require.Equal(t, test.want, redlatch.Event{Primitive: e.Primitive, Permits: e.Permits, Left: e.Left, Owner: e.Owner})
		}
		require.NoError(t, permit.Release(t.Context()))
	})
}
