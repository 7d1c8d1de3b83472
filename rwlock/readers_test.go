package rwlock_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

// Leases of many readers.

func TestAShortLeaseShortensNobodysProtection(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, b, w := k.process(), k.process(), k.process()
		long := k.take(a.RLock, k.ctx, redlatch.WithLease(time.Minute))
		short := k.take(b.RLock, k.ctx, redlatch.WithLease(time.Second))
		require.Equal(k, time.Minute, k.ttl(k.name))
		k.give(short)
		require.Equal(k, time.Minute, k.ttl(k.name))
		k.take(b.RLock, k.ctx, redlatch.WithLease(time.Second)) // is not given back
		time.Sleep(50 * time.Second)
		k.taken(w.TryLock)
		require.True(k, long.Valid())
		k.give(long)
	})
}

func TestADeadReaderDoesNotKeepWritersOutBeyondItsLease(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, b, c := k.process(), k.process(), k.process(redlatch.WithPoll(time.Second))
		start := time.Now()
		renewed := k.take(a.RLock, k.ctx)
		k.take(b.RLock, k.ctx, redlatch.WithLease(20*time.Second)) // is never given back
		asked := k.asks(c.Lock, k.ctx)
		time.Sleep(15 * time.Second) // the renewal has lengthened the lock
		k.give(renewed)
		require.Equal(k, 5*time.Second, k.ttl(k.name), "what the dead reader was promised")
		got := <-asked
		require.NoError(k, got.err)
		require.GreaterOrEqual(k, got.at.Sub(start), 20*time.Second)
		require.LessOrEqual(k, got.at.Sub(start), 20*time.Second+200*time.Millisecond, "the last sleep ends with the lease")
		k.give(got.hold)
	})
}

// Redisson leaves a hash with dead readers alone until its own TTL is over.
func TestAWriterTakesOverFromDeadReaders(t *testing.T) {
	realTime(t, func(k *kit) {
		w := k.process()
		const one, two = "0c1a3fd6-5a9b-8b70-9a1f-1d1c35d0c1aa:1", "0c1a3fd6-5a9b-8b70-9a1f-1d1c35d0c1aa:2"
		require.NoError(k, k.client.HSet(k.ctx, k.name, "mode", "read", one, "2", two, "1").Err())
		require.NoError(k, k.client.PExpire(k.ctx, k.name, time.Hour).Err())
		require.NoError(k, k.client.Set(k.ctx, k.marker(two, 1), "1", time.Hour).Err())
		locked, err := w.Reader().IsLocked(k.ctx)
		require.NoError(k, err)
		require.True(k, locked)
		k.taken(w.TryLock)
		require.Equal(k, map[string]string{"mode": "read", two: "1"}, k.fields(), "the dead one was dropped")

		require.NoError(k, k.client.Del(k.ctx, k.marker(two, 1)).Err())
		locked, err = w.Reader().IsLocked(k.ctx)
		require.NoError(k, err)
		require.False(k, locked)
		k.free(w.TryLock)
		require.Empty(k, k.keys())
	})
}

func TestAReaderWhoWasDeclaredDeadLearnsOfIt(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, b := k.process(), k.process()
		r := k.take(a.RLock, k.ctx)
		work := r.Context(k.ctx)
		time.Sleep(time.Minute + time.Second)                                                  // between two renewals, which make the marker anew
		require.EqualValues(k, 2, k.client.Del(k.ctx, k.marker(r.Owner(), 1), k.list()).Val()) // as evictions would
		w := k.take(b.TryLock, k.ctx)
		at := time.Now()
		<-work.Done()
		require.LessOrEqual(k, time.Since(at), 11*time.Second)
		require.ErrorIs(k, r.Unlock(k.ctx), redlatch.ErrLost)
		require.True(k, w.Valid())
		k.give(w)
	})
}

func TestAMarkerThatIsMissingIsMadeAnew(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, b := k.process(), k.process()
		outer := k.take(a.RLock, k.ctx)
		inner := k.take(a.RLock, outer.Context(k.ctx))
		require.EqualValues(k, 2, k.client.Del(k.ctx, k.marker(outer.Owner(), 1), k.marker(outer.Owner(), 2)).Val())
		time.Sleep(11 * time.Second)
		k.taken(b.TryLock)
		require.True(k, outer.Valid())
		k.give(inner, outer)
		require.Empty(k, k.keys())
	})
}

// The renewal of a Java reader sets the TTL of the lock to its 30 s.
func TestALongFixedLeaseOutlivesAJavaReader(t *testing.T) {
	fakeTime(t, func(k *kit) {
		a, w := k.process(), k.process()
		r := k.take(a.RLock, k.ctx, redlatch.WithLease(10*time.Minute))
		work := r.Context(k.ctx)
		for range 6 { // renewals of a Java reader, which then dies
			time.Sleep(10*time.Second + 50*time.Millisecond)
			require.NoError(k, k.client.PExpire(k.ctx, k.name, 30*time.Second).Err())
		}
		time.Sleep(2 * time.Minute)
		require.NoError(k, work.Err())
		k.taken(w.TryLock)
		require.Greater(k, k.ttl(k.name), 5*time.Minute)
		k.give(r)
	})
}

// Redisson deletes the marker with the highest number, whichever hold ends.
func TestAfterAPartialReleaseTheLowestMarkersCarryTheLongestPromise(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock := k.process()
		outer := k.take(lock.RLock, k.ctx, redlatch.WithLease(5*time.Second))
		inner := k.take(lock.RLock, outer.Context(k.ctx), redlatch.WithLease(time.Minute))
		require.Equal(k, time.Minute, k.ttl(k.marker(outer.Owner(), 1)))
		require.Equal(k, time.Minute, k.ttl(k.marker(outer.Owner(), 2)))
		k.give(inner)
		require.Equal(k, time.Minute, k.ttl(k.marker(outer.Owner(), 1)))
		require.Equal(k, []string{k.list(), k.name, k.marker(outer.Owner(), 1)}, k.keys())
		require.Equal(k, time.Minute, k.ttl(k.name))
		k.give(outer)
		require.Empty(k, k.keys())
	})
}

func TestAPlainLockOfTheSameNameIsNotShared(t *testing.T) {
	realTime(t, func(k *kit) {
		plain, err := rlock.New(k.client, k.name).Lock(k.ctx)
		require.NoError(k, err)
		rw := k.process()
		for _, ask := range []lockFunc{rw.TryRLock, rw.TryLock, rw.RLock, rw.Lock} {
			_, err := ask(k.ctx)
			require.ErrorContains(k, err, "another kind")
			require.NotErrorIs(k, err, redlatch.ErrNotAcquired)
		}
		require.True(k, plain.Valid())
		k.give(plain)
		r := k.take(rw.RLock, k.ctx)
		_, err = rlock.New(k.client, k.name).TryLock(k.ctx)
		require.ErrorIs(k, err, redlatch.ErrNotAcquired)
		k.give(r)
	})
}

func TestQueriesTellTheSidesApart(t *testing.T) {
	realTime(t, func(k *kit) {
		lock, other := k.process(), k.process()
		locked := func(side *rwlock.Side) bool {
			k.Helper()
			is, err := side.IsLocked(k.ctx)
			require.NoError(k, err)
			ttl, err := side.RemainingTTL(k.ctx)
			require.NoError(k, err)
			require.Equal(k, is, ttl > 0)
			return is
		}
		require.False(k, locked(other.Reader()))
		require.False(k, locked(other.Writer()))
		w := k.take(lock.Lock, k.ctx)
		require.False(k, locked(other.Reader()))
		require.True(k, locked(other.Writer()))
		r := k.take(lock.RLock, w.Context(k.ctx))
		require.True(k, locked(other.Reader()))
		require.True(k, locked(other.Writer()))
		info, err := lock.Inspect(k.ctx)
		require.NoError(k, err)
		require.Equal(k, []redlatch.Holder{
			{Owner: w.Owner(), Holds: 1, Side: "read", Own: true}, {Owner: w.Owner(), Holds: 1, Side: "write", Own: true},
		}, timeless(info.Holders))
		require.False(k, info.Holders[0].Since.Before(info.Holders[1].Since), "the write hold came first")
		require.NotZero(k, info.Holders[1].Since)
		k.give(w)
		require.True(k, locked(other.Reader()))
		require.False(k, locked(other.Writer()))
		info, err = other.Reader().Inspect(k.ctx)
		require.NoError(k, err)
		require.Equal(k, []redlatch.Holder{{Owner: w.Owner(), Holds: 1, Side: "read"}}, timeless(info.Holders))

		owners := []string{r.Owner()}
		for range 6 {
			owners = append(owners, k.take(other.RLock, k.ctx).Owner())
		}
		info, err = lock.Inspect(k.ctx)
		require.NoError(k, err)
		var listed []string
		for _, holder := range info.Holders {
			listed = append(listed, holder.Owner)
		}
		require.Equal(k, slices.Compact(slices.Sorted(slices.Values(owners))), listed)
	})
}

func TestForceUnlockIsPerSideAndForEverybody(t *testing.T) {
	realTime(t, func(k *kit) {
		lock, other := k.process(), k.process()
		force := func(side *rwlock.Side) bool {
			k.Helper()
			freed, err := side.ForceUnlock(k.ctx)
			require.NoError(k, err)
			return freed
		}
		a, b := k.take(lock.RLock, k.ctx), k.take(other.RLock, k.ctx)
		require.False(k, force(other.Writer()))
		require.True(k, force(other.Reader()))
		require.Empty(k, k.keys())
		require.False(k, force(other.Reader()))
		require.ErrorIs(k, a.Unlock(k.ctx), redlatch.ErrLost)
		require.ErrorIs(k, b.Unlock(k.ctx), redlatch.ErrLost)

		w := k.take(lock.Lock, k.ctx)
		r := k.take(lock.RLock, w.Context(k.ctx))
		require.False(k, force(other.Reader()))
		require.True(k, force(other.Writer()))
		require.Empty(k, k.keys())
		require.ErrorIs(k, r.Unlock(k.ctx), redlatch.ErrLost)
		require.ErrorIs(k, w.Unlock(k.ctx), redlatch.ErrLost)
	})
}

func TestInspectTellsForHowLongEachReaderHolds(t *testing.T) {
	srv := redistest.Mini(t)
	lock, ctx := rwlock.New(srv.Client(t), "rw", briefly.Linger(0)), t.Context()
	long, err := lock.RLock(ctx, redlatch.WithLease(time.Hour))
	require.NoError(t, err)
	short, err := lock.RLock(ctx, redlatch.WithLease(time.Minute))
	require.NoError(t, err)
	info, err := lock.Inspect(ctx)
	require.NoError(t, err)
	require.Len(t, info.Holders, 2)
	for _, holder := range info.Holders {
		want := time.Minute
		if holder.Owner == long.Owner() {
			want = time.Hour
		}
		require.InDelta(t, want.Seconds(), holder.TTL.Seconds(), 20)
	}
	require.Greater(t, info.TTL, 50*time.Minute)
	require.NoError(t, short.Unlock(ctx))
	require.NoError(t, long.Unlock(ctx))
}

func TestALockAnswersForItsWritingSide(t *testing.T) {
	srv := redistest.Mini(t)
	lock, ctx := rwlock.New(srv.Client(t), "rw", briefly.Linger(0)), t.Context()
	reader, err := lock.RLock(ctx)
	require.NoError(t, err)
	locked, err := lock.IsLocked(ctx)
	require.NoError(t, err)
	require.False(t, locked, "nobody writes")
	freed, err := lock.ForceUnlock(ctx)
	require.NoError(t, err)
	require.False(t, freed)
	require.NoError(t, reader.Unlock(ctx))
	writer, err := lock.Lock(ctx, redlatch.WithLease(time.Minute))
	require.NoError(t, err)
	count, err := lock.HoldCount(writer.Context(ctx))
	require.NoError(t, err)
	require.EqualValues(t, 1, count)
	left, err := lock.RemainingTTL(ctx)
	require.NoError(t, err)
	require.InDelta(t, 60, left.Seconds(), 20)
	freed, err = lock.ForceUnlock(ctx)
	require.NoError(t, err)
	require.True(t, freed)
	require.ErrorIs(t, writer.Unlock(ctx), redlatch.ErrLost)
}

// timeless are holders without what depends on the moment.
func timeless(holders []redlatch.Holder) []redlatch.Holder {
	bare := slices.Clone(holders)
	for i := range bare {
		bare[i].TTL, bare[i].Since = 0, time.Time{}
	}
	return bare
}

// slow delays all commands while it is on.
type slow struct {
	on atomic.Bool
	by time.Duration // 0: a second
}

func (s *slow) wait() {
	if s.on.Load() {
		time.Sleep(cmp.Or(s.by, time.Second))
	}
}

func (s *slow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { s.wait(); return next(ctx, cmd) }
}

func (s *slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { s.wait(); return next(ctx, cmds) }
}

// That another reader of the process has the lock is no reason to refuse it: as long as Redis has said nothing, nothing is
// known.
func TestAReaderBesideItsOwnProcessIsNotRefusedBeforeAnybodyHasAnswered(t *testing.T) {
	fakeTime(t, func(k *kit) {
		client := redis.NewClient(redistest.InMemoryOptions(k.mini))
		defer client.Close()
		var slowly slow
		client.AddHook(&slowly)
		l := rwlock.New(client, k.name, briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)))
		first := k.take(l.RLock, k.ctx)
		slowly.on.Store(true)
		_, err := l.RLock(k.ctx, redlatch.WithWait(time.Millisecond))
		require.ErrorIs(k, err, context.DeadlineExceeded)
		require.NotErrorIs(k, err, redlatch.ErrNotAcquired)
		slowly.on.Store(false)
		time.Sleep(10 * time.Second) // what was under way is undone
		k.give(first)
		k.free(l.TryLock)
	})
}
