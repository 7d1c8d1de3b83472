package fleet_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

var stuck = fleet.Notice{Who: "ada@ops-1", Why: "the import\nhangs"}

// makers make each kind of lock that has owners.
var makers = map[redlatch.Kind]func(c redlatch.Client, name string) locktest.Lock{
	redlatch.KindLock:       func(c redlatch.Client, name string) locktest.Lock { return rlock.New(c, name) },
	redlatch.KindFairLock:   func(c redlatch.Client, name string) locktest.Lock { return fairlock.New(c, name) },
	redlatch.KindFencedLock: func(c redlatch.Client, name string) locktest.Lock { return fencedlock.New(c, name) },
	redlatch.KindSpinLock:   func(c redlatch.Client, name string) locktest.Lock { return spinlock.New(c, name) },
	redlatch.KindWriteLock:  func(c redlatch.Client, name string) locktest.Lock { return rwlock.New(c, name).Writer() },
	redlatch.KindReadLock:   func(c redlatch.Client, name string) locktest.Lock { return rwlock.New(c, name).Reader() },
}

func TestALockIsFreedFromTheOwnerThatWasShown(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		for kind, lock := range makers {
			t.Run(string(kind), func(t *testing.T) {
				asking, name := srv.Client(t), srv.Key(t, "name")
				victim := lock(srv.Client(t), name)
				hold, err := victim.Lock(t.Context())
				require.NoError(t, err)
				inner, err := victim.Lock(hold.Context(t.Context())) // all holds go
				require.NoError(t, err)
				defer func() { require.ErrorIs(t, inner.Unlock(context.Background()), redlatch.ErrLost) }()
				waiting := lock(srv.Client(t), name)
				got := begin(func() (*redlatch.Hold, error) { return waiting.Lock(t.Context()) })

				freed, err := freeFrom(t, asking, kind, name, hold.Owner()+"0", stuck)
				require.NoError(t, err)
				require.False(t, freed, "nobody of that name holds it")

				freed, err = freeFrom(t, asking, kind, name, hold.Owner(), stuck)
				require.NoError(t, err)
				require.True(t, freed)
				next := <-got
				require.NoError(t, next.err)
				unlockLater(t, next.hold)

				err = hold.Unlock(context.Background())
				require.ErrorIs(t, err, redlatch.ErrLost)
				var loss *redlatch.LossError
				require.ErrorAs(t, err, &loss)
				require.Regexp(t, `^ada@ops-1 at \d\d:\d\d:\d\d: the import hangs$`, loss.Forced)
				require.ErrorContains(t, err, "freed by force by ada@ops-1")

				freed, err = freeFrom(t, asking, kind, name, hold.Owner(), stuck)
				require.NoError(t, err)
				require.False(t, freed)
				for _, h := range get(t, asking, kind, name).Holders {
					require.Equal(t, next.hold.Owner(), h.Owner, "who got it since keeps it")
				}
				require.NoError(t, next.hold.Unlock(context.Background()))
			})
		}
	})
}

// A taken is how a Lock ended.
type taken struct {
	hold *redlatch.Hold
	err  error
}

func begin(lock func() (*redlatch.Hold, error)) <-chan taken {
	got := make(chan taken, 1)
	go func() {
		hold, err := lock()
		got <- taken{hold, err}
	}()
	return got
}

func TestOtherReadersKeepWhatOneIsFreedFrom(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		name := srv.Key(t, "name")
		one, err := rwlock.New(srv.Client(t), name).RLock(t.Context())
		require.NoError(t, err)
		two, err := rwlock.New(srv.Client(t), name).RLock(t.Context())
		require.NoError(t, err)
		freed, err := freeFrom(t, srv.Client(t), redlatch.KindReadLock, name, one.Owner(), stuck)
		require.NoError(t, err)
		require.True(t, freed)
		require.NoError(t, two.Unlock(t.Context()))
		require.ErrorIs(t, one.Unlock(t.Context()), redlatch.ErrLost)
		require.False(t, get(t, srv.Client(t), redlatch.KindReadWriteLock, name).Info.Exists)
	})
}

func TestAHolderThatIsFreedLearnsOfItAtItsRenewal(t *testing.T) {
	srv := redistest.Mini(t)
	name := srv.Key(t, "name")
	hold, err := rlock.New(srv.Client(t), name, redlatch.WithWatchdogTimeout(3*time.Second)).Lock(t.Context())
	require.NoError(t, err)
	work := hold.Context(t.Context())
	_, err = freeFrom(t, srv.Client(t), redlatch.KindLock, name, hold.Owner(), stuck)
	require.NoError(t, err)
	<-work.Done()
	require.ErrorIs(t, context.Cause(work), redlatch.ErrLost)
	require.ErrorContains(t, hold.Unlock(t.Context()), "the import hangs")
}

func TestAPermitIsFreedByItsID(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		name := srv.Key(t, "name")
		s := permitsemaphore.New(srv.Client(t), name)
		_, err := s.TrySetPermits(t.Context(), 2)
		require.NoError(t, err)
		permit, err := s.Acquire(t.Context(), 2)
		require.NoError(t, err)
		freed, err := freeFrom(t, srv.Client(t), redlatch.KindPermitSemaphore, name, permit.IDs()[1], stuck)
		require.NoError(t, err)
		require.True(t, freed)
		require.Len(t, get(t, srv.Client(t), redlatch.KindPermitSemaphore, name).Holders, 1)
		require.Error(t, permit.Release(t.Context()), "one of its permits is gone")
	})
}

func TestAHolderOfRedissonIsFreedToo(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, name := srv.Client(t), srv.Key(t, "name")
		require.NoError(t, client.HSet(t.Context(), name, java+":57", 2).Err())
		freed, err := freeFrom(t, client, fleet.Detect, name, java+":57", stuck)
		require.NoError(t, err)
		require.True(t, freed)
		require.Zero(t, client.Exists(t.Context(), name).Val())
	})
}

func TestNothingIsFreedWithoutWhoAndWhy(t *testing.T) {
	srv := redistest.Mini(t)
	name := srv.Key(t, "name")
	hold, err := rlock.New(srv.Client(t), name).Lock(t.Context())
	require.NoError(t, err)
	for _, notice := range []fleet.Notice{{Why: "x"}, {Who: "x"}} {
		_, err := freeFrom(t, srv.Client(t), redlatch.KindLock, name, hold.Owner(), notice)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
	}
	_, err = fleet.Holder{}.Free(t.Context(), stuck)
	require.ErrorIs(t, err, redlatch.ErrInvalid, "which Get or List have not made")
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestOfAGroupAnOwnerLosesAllItsValuesAndNobodyElseLosesAny(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		name, asking := srv.Key(t, "name"), srv.Client(t)
		group := func(values ...string) *multilock.Group { return multilock.NewGroup(srv.Client(t), name, values) }
		victim, err := group("a", "b", "c").Lock(t.Context())
		require.NoError(t, err)
		other, err := group("d").Lock(t.Context())
		require.NoError(t, err)
		same, overlapping := group("a", "b", "c"), group("c", "e")
		first := begin(func() (*redlatch.Hold, error) { return same.Lock(t.Context()) })

		freed, err := freeFrom(t, asking, redlatch.KindGroupLock, name, victim.Owner()+"0", stuck)
		require.NoError(t, err)
		require.False(t, freed)
		freed, err = freeFrom(t, asking, fleet.Detect, name, victim.Owner(), stuck)
		require.NoError(t, err)
		require.True(t, freed)
		require.NotContains(t, asking.HVals(t.Context(), name).Val(), victim.Owner(), "it has none of its values any more")
		next := <-first
		require.NoError(t, next.err)
		err = victim.Unlock(context.Background())
		require.ErrorIs(t, err, redlatch.ErrLost)
		require.ErrorContains(t, err, "freed by force by ada@ops-1")

		second := begin(func() (*redlatch.Hold, error) { return overlapping.Lock(t.Context()) })
		freed, err = freeFrom(t, asking, redlatch.KindGroupLock, name, next.hold.Owner(), stuck)
		require.NoError(t, err)
		require.True(t, freed)
		last := <-second
		require.NoError(t, last.err)
		require.ErrorIs(t, next.hold.Unlock(context.Background()), redlatch.ErrLost)
		require.NoError(t, last.hold.Unlock(context.Background()))
		require.NoError(t, other.Unlock(context.Background()))
	})
}

// refusing is a hook that refuses the release of one owner.
type refusing struct{ key, owner string }

// A refusal is an error that the server has answered.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

const errRefused = refusal("NOPERM User app has no permissions to run the 'evalsha' command")

func (r refusing) refuses(cmd redis.Cmder) bool {
	args := cmd.Args()
	if len(args) < 5 || args[3] != r.key || !slices.Contains(args[4:], any(r.owner)) {
		return false
	}
	cmd.SetErr(errRefused)
	return true
}

func (refusing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r refusing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if r.refuses(cmd) {
			return errRefused
		}
		return next(ctx, cmd)
	}
}

func (r refusing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if slices.ContainsFunc(cmds, r.refuses) {
			return errRefused
		}
		return next(ctx, cmds)
	}
}

func TestANoticeIsWithdrawnWhereNothingWasFreed(t *testing.T) {
	srv := redistest.Mini(t)
	name := srv.Key(t, "name")
	hold, err := rlock.New(srv.Client(t), name).Lock(t.Context())
	require.NoError(t, err)
	asking := srv.Client(t)
	asking.AddHook(refusing{name, hold.Owner()})
	_, err = freeFrom(t, asking, redlatch.KindLock, name, hold.Owner(), stuck)
	require.ErrorIs(t, err, errRefused)
	require.NoError(t, hold.Unlock(t.Context()))
	keys, err := srv.Client(t).Keys(t.Context(), "redlatch_forced*").Result()
	require.NoError(t, err)
	require.Empty(t, keys)
}

// freeFrom takes an object from an owner, if that is one of its holders.
func freeFrom(t *testing.T, client redlatch.Client, kind redlatch.Kind, name, owner string, by fleet.Notice) (bool, error) {
	t.Helper()
	object, err := fleet.Get(t.Context(), client, kind, name)
	if err != nil {
		return false, err
	}
	if h := object.Holder(owner); h != nil {
		return h.Free(t.Context(), by)
	}
	return false, nil
}
