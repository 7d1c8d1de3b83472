package permitsemaphore_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

func TestPermitsAreTakenAllOrNoneAndComeBackTogether(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 5)
		p := acquire(t, s, 3)
		require.Len(t, p.IDs(), 3)
		require.Regexp(t, "^[0-9a-f]{32}$", id(p))
		require.True(t, p.Valid())
		requireState(t, client, s.Name(), "2", 3)
		_, err := s.TryAcquire(ctx, 3)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		requireState(t, client, s.Name(), "2", 3)
		work := p.Context(ctx)
		require.NoError(t, p.Release(ctx))
		require.ErrorIs(t, context.Cause(work), redlatch.ErrReleased)
		require.False(t, p.Valid())
		requireState(t, client, s.Name(), "5", 0)
		require.ErrorIs(t, p.Release(ctx), redlatch.ErrReleased)
		requireState(t, client, s.Name(), "5", 0)
	})
}

func TestReleaseWorksOnACancelledContext(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s, client := fresh(t, srv, 2)
		p, q := acquire(t, s, 1), acquire(t, s, 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, p.Release(ctx))
		require.NoError(t, s.Release(ctx, id(q)))
		requireState(t, client, s.Name(), "2", 0)
	})
}

func TestAnIdReleasesThePermitOfAnotherProcess(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 5, redlatch.WithWatchdogTimeout(3*time.Second))
		other := permitsemaphore.New(srv.Client(t), s.Name(), briefly.Linger(0)) // another session is another process
		p := acquire(t, s, 1)
		work := p.Context(ctx)
		require.NoError(t, other.Release(ctx, id(p)))
		requireState(t, client, s.Name(), "5", 0)
		require.ErrorIs(t, ended(t, work), redlatch.ErrLost)
		require.ErrorIs(t, p.Release(ctx), redlatch.ErrLost)
		requireState(t, client, s.Name(), "5", 0)
		require.ErrorIs(t, other.Release(ctx, id(p)), redlatch.ErrNotHeld)
		done, err := other.TryRelease(ctx, id(p))
		require.NoError(t, err)
		require.False(t, done)
	})
}

func TestReleaseByIdIsAllOrNoneAndRefusesDuplicates(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 5)
		p := acquire(t, s, 3)
		work := p.Context(ctx)
		ids := p.IDs()
		stranger := "00112233445566778899aabbccddeeff"
		require.ErrorIs(t, s.Release(ctx, ids[0], stranger), redlatch.ErrNotHeld)
		requireState(t, client, s.Name(), "2", 3)
		before := srv.Commands(t)
		require.ErrorIs(t, s.Release(ctx, ids[0], ids[1], ids[0]), redlatch.ErrInvalid)
		_, err := s.TryRelease(ctx, ids[0], "0011")
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.Equal(t, before, srv.Commands(t), "nothing is sent")
		require.NoError(t, work.Err())
		require.Equal(t, ids, p.IDs())

		require.NoError(t, s.Release(ctx, ids[0], ids[2]))
		requireState(t, client, s.Name(), "4", 1)
		require.Equal(t, ids[1:2], p.IDs(), "the Permit goes on with the others")
		require.NoError(t, work.Err())
		require.NoError(t, s.Release(ctx, ids[1]))
		require.ErrorIs(t, ended(t, work), redlatch.ErrReleased)
		require.ErrorIs(t, p.Release(ctx), redlatch.ErrReleased)
		requireState(t, client, s.Name(), "5", 0)
		require.NoError(t, s.Release(ctx))
	})
}

// A Permit of which one id is released here is renewed with the others.
func TestAPermitIsRenewedAfterOneOfItsIdsWasReleased(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 3, redlatch.WithWatchdogTimeout(3*time.Second))
		p := acquire(t, s, 3)
		ids := p.IDs()
		require.NoError(t, s.Release(ctx, ids[0]))
		last := score(t, client, s.Name(), ids[2])
		eventually(t, "three renewals", func() bool {
			return score(t, client, s.Name(), ids[2]) > last+2500 && score(t, client, s.Name(), ids[1]) > last+2500
		})
		require.True(t, p.Valid())
		require.NoError(t, p.Release(ctx))
		requireState(t, client, s.Name(), "3", 0)
	})
}

func TestAnExpiredPermitComesBackOnceAndItsReleaseSaysSo(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		for _, byID := range []bool{false, true} {
			s, client := fresh(t, srv, 2)
			p := acquire(t, s, 1, redlatch.WithLease(time.Second))
			require.ErrorIs(t, ended(t, p.Context(ctx)), redlatch.ErrLost)
			eventually(t, "the deadline has passed at the server", func() bool {
				now, err := client.Time(ctx).Result()
				require.NoError(t, err)
				return float64(now.UnixMilli()) >= score(t, client, s.Name(), id(p))
			})
			requireState(t, client, s.Name(), "1", 1)
			if byID {
				require.ErrorIs(t, s.Release(ctx, id(p)), redlatch.ErrNotHeld)
			} else {
				require.ErrorIs(t, p.Release(ctx), redlatch.ErrLost)
			}
			requireState(t, client, s.Name(), "2", 0)
			require.ErrorIs(t, s.Release(ctx, id(p)), redlatch.ErrNotHeld)
			requireState(t, client, s.Name(), "2", 0)
		}
	})
}

func TestNumbersAreSetAddedAndCounted(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 0)
		counts := func(available, acquired, total int64) {
			t.Helper()
			for want, ask := range map[*int64]func(context.Context) (int64, error){&available: s.AvailablePermits, &acquired: s.AcquiredPermits, &total: s.TotalPermits} {
				got, err := ask(ctx)
				require.NoError(t, err)
				require.Equal(t, *want, got)
			}
		}
		set, err := s.TrySetPermits(ctx, 5)
		require.NoError(t, err)
		require.False(t, set, "one of 0 permits exists")
		total, err := s.AddPermits(ctx, 5)
		require.NoError(t, err)
		require.EqualValues(t, 5, total)
		p := acquire(t, s, 5, permitsemaphore.WithoutExpiry())
		counts(0, 5, 5)
		require.NoError(t, s.SetPermits(ctx, 2))
		counts(-3, 5, 2)
		total, err = s.AddPermits(ctx, -1)
		require.NoError(t, err)
		require.EqualValues(t, 1, total)
		require.NoError(t, p.Release(ctx))
		counts(1, 0, 1)

		there, err := s.Expire(ctx, long)
		require.NoError(t, err)
		require.True(t, there)
		p = acquire(t, s, 1)
		require.NoError(t, s.SetPermits(ctx, 7))
		_, err = s.AddPermits(ctx, 1)
		require.NoError(t, err)
		for _, key := range []string{s.Name(), keys.PermitTimeouts(s.Name())} {
			require.Greater(t, client.PTTL(ctx, key).Val(), long/2, "every operation keeps the TTL of both keys")
		}
		had, err := s.Persist(ctx)
		require.NoError(t, err)
		require.True(t, had)
		for _, key := range []string{s.Name(), keys.PermitTimeouts(s.Name())} {
			require.Less(t, client.PTTL(ctx, key).Val(), time.Duration(0))
		}
		gone, err := s.Delete(ctx)
		require.NoError(t, err)
		require.True(t, gone)
		counts(0, 0, 0)
		require.ErrorIs(t, p.Release(ctx), redlatch.ErrLost)
		counts(0, 0, 0)
		set, err = s.TrySetPermits(ctx, 5, redlatch.WithTTL(long))
		require.NoError(t, err)
		require.True(t, set)
		require.Greater(t, client.PTTL(ctx, s.Name()).Val(), long/2)
	})
}

// The counter vanishes, by eviction or a hand that deletes one key of two. What was taken then must not turn into new
// permits when it comes back, as it does in Redisson.
func TestPermitsThatOutliveTheirCounterInventNone(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 5, permitsemaphore.WithoutExpiry())
		p, q := acquire(t, s, 2), acquire(t, s, 1)
		require.NoError(t, client.Del(ctx, s.Name()).Err())
		require.ErrorIs(t, p.Release(ctx), redlatch.ErrLost)
		requireState(t, client, s.Name(), "", 1)
		require.ErrorIs(t, s.Release(ctx, id(q)), redlatch.ErrNotHeld)
		set, err := s.TrySetPermits(ctx, 5)
		require.NoError(t, err)
		require.True(t, set)
		total, err := s.TotalPermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 5, total)
		require.NoError(t, q.Release(ctx))
		requireState(t, client, s.Name(), "5", 0)
	})
}

func TestLeasesAreFixedPermanentUpdatedAndTold(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 9)
		renewed, fixed, permanent := acquire(t, s, 1), acquire(t, s, 1, redlatch.WithLease(long)), acquire(t, s, 1, permitsemaphore.WithoutExpiry())
		lease := func(p *permitsemaphore.Permit) time.Duration {
			t.Helper()
			d, err := s.LeaseTime(ctx, id(p))
			require.NoError(t, err)
			return d
		}
		require.InDelta(t, 15, lease(renewed).Seconds(), 15.1)
		require.Greater(t, lease(fixed), long-time.Minute)
		require.EqualValues(t, permitsemaphore.NoExpiry, lease(permanent))
		require.EqualValues(t, never, score(t, client, s.Name(), id(permanent)))
		require.Greater(t, time.Until(permanent.Until()), 24*365*time.Hour)

		require.NoError(t, permanent.UpdateLease(ctx, long))
		require.Greater(t, lease(permanent), long-time.Minute)
		require.Less(t, time.Until(permanent.Until()), long, "a shorter lease is trusted for less")
		require.NoError(t, s.UpdateLease(ctx, id(permanent), permitsemaphore.NoExpiry))
		require.EqualValues(t, permitsemaphore.NoExpiry, lease(permanent))
		require.Greater(t, time.Until(permanent.Until()), 24*365*time.Hour)
		require.NoError(t, renewed.UpdateLease(ctx, long))
		require.Greater(t, time.Until(renewed.Until()), long-time.Minute)

		other := permitsemaphore.New(srv.Client(t), s.Name(), briefly.Linger(0))
		require.NoError(t, other.UpdateLease(ctx, id(fixed), 2*long))
		require.Greater(t, lease(fixed), 2*long-time.Minute)

		short := acquire(t, s, 1, redlatch.WithLease(long))
		work := short.Context(ctx)
		require.NoError(t, short.UpdateLease(ctx, 30*time.Millisecond))
		var loss *redlatch.LossError
		require.ErrorAs(t, ended(t, work), &loss)
		require.Equal(t, redlatch.ReasonLeaseOver, loss.Reason)
		require.ErrorIs(t, short.UpdateLease(ctx, long), redlatch.ErrLost)
		eventually(t, "it is gone", func() bool { _, err := s.LeaseTime(ctx, id(short)); return errors.Is(err, redlatch.ErrNotHeld) })
		require.ErrorIs(t, other.UpdateLease(ctx, id(short), long), redlatch.ErrNotHeld, "an expired permit is not brought back")
		require.ErrorIs(t, s.UpdateLease(ctx, id(short), long), redlatch.ErrNotHeld)
		require.ErrorIs(t, renewed.UpdateLease(ctx, 0), redlatch.ErrInvalid)
		for _, p := range []*permitsemaphore.Permit{renewed, fixed, permanent} {
			require.NoError(t, p.Release(ctx))
			require.ErrorIs(t, p.UpdateLease(ctx, long), redlatch.ErrReleased)
		}
		total, err := s.AvailablePermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 9, total)
	})
}

func TestMisuseIsRefusedBeforeAnythingIsSent(t *testing.T) {
	srv := redistest.Mini(t)
	ctx := t.Context()
	s, _ := fresh(t, srv, 1)
	before := srv.Commands(t)
	for _, err := range []error{
		second(s.Acquire(ctx, -1)), second(s.Acquire(ctx, 10_001)), second(s.TryAcquire(ctx, 1, redlatch.WithWait(time.Second))),
		second(s.Acquire(ctx, 1, redlatch.WithTTL(time.Second))), second(s.Acquire(ctx, 1, permitsemaphore.WithoutExpiry(), redlatch.WithMaxHold(time.Second))),
		second(s.TrySetPermits(ctx, -1)), s.SetPermits(ctx, -1), second(s.AddPermits(ctx, 1<<40)), second(s.Expire(ctx, 0)),
		s.UpdateLease(ctx, "00112233445566778899aabbccddeeff", 0), s.UpdateLease(ctx, "x", long), second(s.LeaseTime(ctx, "")),
		second(permitsemaphore.New(srv.Client(t), "").AvailablePermits(ctx)),
	} {
		require.ErrorIs(t, err, redlatch.ErrInvalid)
	}
	require.Equal(t, before, srv.Commands(t))
}

func second[T any](_ T, err error) error { return err }

func TestAPermitOfNoneHoldsNothing(t *testing.T) {
	s, client := fresh(t, redistest.Mini(t), 0)
	p, err := s.Acquire(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, p.Valid())
	require.Empty(t, id(p))
	require.Empty(t, p.IDs())
	require.NoError(t, p.UpdateLease(t.Context(), long))
	require.NoError(t, p.Release(t.Context()))
	requireState(t, client, s.Name(), "0", 0)
}

func TestDoGivesBackAlsoAfterAPanic(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s, client := fresh(t, srv, 3)
		wrong := errors.New("wrong")
		require.ErrorIs(t, s.Do(t.Context(), 2, func(ctx context.Context) error {
			requireState(t, client, s.Name(), "1", 2)
			return wrong
		}), wrong)
		require.Panics(t, func() {
			_ = s.Do(t.Context(), 2, func(context.Context) error { panic(wrong) })
		})
		requireState(t, client, s.Name(), "3", 0)
		err := s.Do(t.Context(), 4, nil, redlatch.WithWait(0))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	})
}

func TestAPermitThatWasDroppedIsReportedIfItIsRenewed(t *testing.T) {
	srv := redistest.Mini(t)
	var told events
	s, client := fresh(t, srv, 3, told.option(), redlatch.WithLogger(discard))
	kept := id(acquire(t, s, 1, permitsemaphore.WithoutExpiry())) // a program that keeps the id
	acquire(t, s, 1)
	eventually(t, "the other one is reported", func() bool { runtime.GC(); return told.count(redlatch.EventForgotten) == 1 })
	require.NoError(t, s.Release(t.Context(), kept))
	requireState(t, client, s.Name(), "2", 1)
	runtime.GC()
	require.Equal(t, 1, told.count(redlatch.EventForgotten))
}

func TestAContextKeepsThePermitAlive(t *testing.T) {
	srv := redistest.Mini(t)
	s, client := fresh(t, srv, 1, redlatch.WithWatchdogTimeout(3*time.Second))
	work, id := func() (context.Context, string) {
		p := acquire(t, s, 1)
		return p.Context(t.Context()), id(p)
	}()
	start := score(t, client, s.Name(), id)
	eventually(t, "several renewals", func() bool { runtime.GC(); return score(t, client, s.Name(), id) > start+1500 })
	require.NoError(t, work.Err())
	require.NoError(t, s.Release(t.Context(), id))
}

// What Redisson writes is what we write, so its permits are ours: ids that we have not minted, on a semaphore with its
// deadlines.
func TestPermitsOfRedissonAreCountedReclaimedAndReleased(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s, client := fresh(t, srv, 1)
		zset := keys.PermitTimeouts(s.Name())
		for member, deadline := range map[string]float64{"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f": never, "expired........!": 1} {
			require.NoError(t, client.ZAdd(ctx, zset, redis.Z{Member: member, Score: deadline}).Err())
		}
		available, err := s.AvailablePermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 2, available)
		require.NoError(t, s.Release(ctx, "000102030405060708090A0B0C0D0E0F"))
		requireState(t, client, s.Name(), "3", 0)
	})
}

func TestAPermitInALogLineSaysOfWhatItIsAndWhose(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		s := permitsemaphore.New(client, "s", briefly.Linger(0))
		require.NoError(t, s.SetPermits(t.Context(), 2))
		p := acquire(t, s, 2)
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("at work", "permit", p)
		require.Contains(t, log.String(), `permit.name=s permit.primitive=permit_semaphore permit.owner=`+id(p)+` permit.until=`)
		require.NoError(t, p.Release(t.Context()))
	})
}
