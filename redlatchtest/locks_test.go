package redlatchtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// kinds make a lock of each kind that Steal and Expire know.
var kinds = map[string]func(client redlatch.Client, opts ...redlatch.Option) redlatch.Locker{
	"rlock":    func(c redlatch.Client, o ...redlatch.Option) redlatch.Locker { return rlock.New(c, "orders", o...) },
	"fairlock": func(c redlatch.Client, o ...redlatch.Option) redlatch.Locker { return fairlock.New(c, "orders", o...) },
	"fencedlock": func(c redlatch.Client, o ...redlatch.Option) redlatch.Locker {
		return fencedlock.New(c, "orders", o...)
	},
	"spinlock": func(c redlatch.Client, o ...redlatch.Option) redlatch.Locker { return spinlock.New(c, "orders", o...) },
	"writer":   func(c redlatch.Client, o ...redlatch.Option) redlatch.Locker { return rwlock.New(c, "orders", o...) },
	"reader": func(c redlatch.Client, o ...redlatch.Option) redlatch.Locker {
		return rwlock.New(c, "orders", o...).Reader()
	},
}

// eachKind runs a test on each kind of lock, in a bubble.
func eachKind(t *testing.T, test func(t *testing.T, server *redlatchtest.Server, lock func(opts ...redlatch.Option) redlatch.Locker)) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
				test(t, server, func(opts ...redlatch.Option) redlatch.Locker { return kind(server.Client(), opts...) })
			})
		})
	}
}

func TestALockThatExpiresIsLostAndFree(t *testing.T) {
	eachKind(t, func(t *testing.T, server *redlatchtest.Server, lock func(...redlatch.Option) redlatch.Locker) {
		hold := take(t, lock())
		ctx := hold.Context(t.Context())
		start := time.Now()
		server.Expire("orders")
		lostSoon(t, ctx)
		require.LessOrEqual(t, time.Since(start), 11*time.Second)
		require.NoError(t, take(t, lock()).Unlock(t.Context()))
	})
}

func TestAWaiterIsNotToldThatALockHasExpired(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		take(t, lock(server.Client())).Leave()
		start := time.Now()
		time.AfterFunc(10*time.Second, func() { server.Expire("orders") })
		next := take(t, lock(server.Client(), redlatch.WithPoll(7*time.Second)))
		require.Greater(t, time.Since(start), 10*time.Second)
		require.LessOrEqual(t, time.Since(start), 17*time.Second, "it has asked")
		require.NoError(t, next.Unlock(t.Context()))
	})
}

func TestAStolenLockIsAnotherOwners(t *testing.T) {
	eachKind(t, func(t *testing.T, server *redlatchtest.Server, lock func(...redlatch.Option) redlatch.Locker) {
		hold := take(t, lock())
		ctx := hold.Context(t.Context())
		start := time.Now()
		thief := server.Steal("orders")
		require.NotEqual(t, hold.Owner(), thief.Owner())
		if hold.Token() > 0 {
			require.Greater(t, thief.Token(), hold.Token())
		}
		lostSoon(t, ctx)
		require.LessOrEqual(t, time.Since(start), 11*time.Second)
		require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrLost)

		waiter, got := lock(redlatch.WithPoll(time.Hour)), make(chan time.Time)
		go func() {
			defer close(got)
			next, err := waiter.Lock(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			got <- time.Now()
			if err := next.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Minute)
		refused(t, lock())
		released := time.Now()
		require.NoError(t, thief.Unlock(t.Context()))
		if waited := (<-got).Sub(released); t.Name() == "TestAStolenLockIsAnotherOwners/spinlock" { // whose waiters ask
			require.Less(t, waited, time.Second)
		} else {
			require.Zero(t, waited, "the waiter was told")
		}
		<-got
		require.ErrorIs(t, thief.Unlock(t.Context()), redlatch.ErrReleased)
	})
}

func TestAStolenLockCanBeStolenAgain(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		hold := take(t, lock(server.Client(), brisk))
		first := server.Steal("orders")
		second := server.Steal("orders")
		lostSoon(t, hold.Context(t.Context()))
		refused(t, lock(server.Client()))
		require.ErrorIs(t, first.Unlock(t.Context()), redlatch.ErrLost)
		require.NoError(t, second.Unlock(t.Context()))
		require.NoError(t, take(t, lock(server.Client())).Unlock(t.Context()))
	})
}

func TestWhatIsNotHeldCannotExpireOrBeStolen(t *testing.T) {
	for text, act := range map[string]func(server *redlatchtest.Server){
		`Expire("orders"): nobody holds a lock of that name`:               func(s *redlatchtest.Server) { s.Expire("orders") },
		`Steal("orders"): nobody holds a lock of that name`:                func(s *redlatchtest.Server) { s.Steal("orders") },
		`Expire("n"): that is no lock: Redis has a string under this name`: func(s *redlatchtest.Server) { s.Expire("n") },
		`Steal("n"): that is no lock: Redis has a string under this name`:  func(s *redlatchtest.Server) { s.Steal("n") },
		`Advance(-1s): time does not go back`:                              func(s *redlatchtest.Server) { s.Advance(-time.Second) },
	} {
		require.Contains(t, failure(t, func(tb testing.TB) {
			server := redlatchtest.Run(tb)
			server.Client().Set(t.Context(), "n", 1, 0)
			act(server)
		}), text)
	}
}

func TestLeasesRunOutWhenTheServerIsAhead(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		hold := take(t, lock(server.Client()), redlatch.WithLease(time.Hour))
		client := server.Client()
		require.NoError(t, client.Set(t.Context(), "for ever", 1, 0).Err())
		server.Advance(59 * time.Minute)
		refused(t, lock(client))
		server.Advance(time.Minute)
		require.NoError(t, take(t, lock(client)).Unlock(t.Context()))
		require.True(t, hold.Valid(), "its own clock has not moved")
		require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrLost)
		require.Equal(t, "1", client.Get(t.Context(), "for ever").Val())
	})
}
