package fencedlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

const counterKey = "redisson_lock_token:{lock}"

// A streak is a lock that one process hands on among its goroutines, on fake time.
type streak struct {
	*testing.T
	mini   *miniredis.Miniredis
	client *redis.Client
	lock   *fencedlock.Lock
	guard  *fencedlock.Guard
	hold   *redlatch.Hold // the present one
}

// onStreak runs test in a streak that an atomic hand-off began. The block has eight tokens: the hold has 2, and 3 to 9 are left.
func onStreak(t *testing.T, test func(s *streak), opts ...redlatch.Option) {
	redistest.Bubble(t, func(t *testing.T) {
		mini, client := redistest.InMemory(t)
		opts = append(opts, briefly.Linger(0))
		s := &streak{T: t, mini: mini, client: client,
			lock: fencedlock.New(client, "lock", opts...), guard: fencedlock.NewGuard(client, "lock", briefly.Linger(0))}
		s.hold = s.take(s.Context())
		next := s.wait()
		s.give(next)
		test(s)
		s.free()
		greatest := s.hold.Token()
		s.hold = s.take(s.Context())
		require.Greater(t, s.hold.Token(), greatest)
		s.free()
	})
}

func (s *streak) take(ctx context.Context) *redlatch.Hold {
	s.Helper()
	hold, err := s.lock.Lock(ctx)
	require.NoError(s, err)
	return hold
}

// wait begins a wait on a goroutine of its own.
func (s *streak) wait(opts ...redlatch.Option) <-chan *redlatch.Hold {
	got := make(chan *redlatch.Hold, 1)
	go func() {
		hold, err := s.lock.Lock(s.Context(), opts...)
		if err != nil {
			s.Error(err)
		}
		got <- hold
	}()
	synctest.Wait()
	return got
}

func (s *streak) free() {
	s.Helper()
	require.NoError(s, s.hold.Unlock(s.Context()))
}

// give hands the lock on to the waiter.
func (s *streak) give(next <-chan *redlatch.Hold) {
	s.Helper()
	s.free()
	s.hold = <-next
}

func (s *streak) last() int64 {
	s.Helper()
	last, err := s.lock.LastToken(s.Context())
	require.NoError(s, err)
	return last
}

func TestTokensOfAStreakAreConsecutiveAndCostNoCommands(t *testing.T) {
	onStreak(t, func(s *streak) {
		var waiters []<-chan *redlatch.Hold
		for range 1000 {
			waiters = append(waiters, s.wait())
		}
		before := s.mini.CommandCount()
		for i, next := range waiters {
			s.give(next)
			require.EqualValues(s, i+3, s.hold.Token())
			require.GreaterOrEqual(s, s.last()-int64(i+3), int64(0), "an upper bound")
		}
		asked := len(waiters) // calls of LastToken: a script of two commands
		require.LessOrEqual(s, s.mini.CommandCount()-before-asked*3, 5*12, "five blocks, each larger than what was used before it")
	})
}

func TestABlockIsEightTimesAsLargeAsWhatAShortStreakGaveOut(t *testing.T) {
	onStreak(t, func(s *streak) {
		var waiters []<-chan *redlatch.Hold
		for range 41 {
			waiters = append(waiters, s.wait())
		}
		for _, next := range waiters[:39] {
			s.give(next)
		}
		time.Sleep(time.Second) // the streak is over
		last := s.last()
		s.give(waiters[39])
		require.Equal(s, last+1, s.hold.Token(), "by the script that ends the streak")
		s.give(waiters[40])
		require.Equal(s, last+2, s.hold.Token())
		require.Equal(s, last+8*(1+39), s.last())
	})
}

func TestAReEntryTakesTheNextTokenOfTheBlock(t *testing.T) {
	onStreak(t, func(s *streak) {
		third, fourth := s.wait(), s.wait()
		s.give(third) // token 3, the second of a block
		s.give(fourth)
		fifth := s.wait()
		require.EqualValues(s, 4, s.hold.Token())
		require.EqualValues(s, 9, s.last())
		inner := s.take(s.hold.Context(s.Context()))
		require.EqualValues(s, 5, inner.Token())
		require.EqualValues(s, 5, s.hold.Token())
		require.EqualValues(s, 9, s.last(), "not the counter")
		require.NoError(s, s.guard.For(inner).Claim(s.Context()))
		require.NoError(s, inner.Unlock(s.Context()))
		s.give(fifth)
		require.EqualValues(s, 6, s.hold.Token())
		require.NoError(s, s.guard.For(s.hold).Claim(s.Context()), "an heir of the same owner")
		for want := range int64(5) {
			inner := s.take(s.hold.Context(s.Context()))
			require.Equal(s, want+7, inner.Token(), "beyond the block from the counter")
			defer func() { _ = inner.Unlock(context.Background()) }()
		}
		require.EqualValues(s, 11, s.last())
	})
}

func TestAWaiterWithDifferentTermsIsIssuedOneToken(t *testing.T) {
	for what, opt := range map[string]redlatch.Option{
		"lease": redlatch.WithLease(time.Minute), "limit": redlatch.WithMaxHold(time.Minute), "confirmed": redlatch.WithoutLocalHandOff(),
	} {
		t.Run(what, func(t *testing.T) {
			onStreak(t, func(s *streak) {
				next := s.wait(opt)
				require.EqualValues(s, 9, s.last())
				s.give(next)
				require.EqualValues(s, 10, s.hold.Token(), "3 to 9 are never used")
				require.EqualValues(s, 10, s.last())
			})
		})
	}
}

// The lock is deleted without a message and taken by another process. The local hand-off after that does not know it.
func TestTheRestOfABlockIsBelowTheTokensOfOtherProcesses(t *testing.T) {
	onStreak(t, func(s *streak) {
		next := s.wait()
		s.mini.Del("lock")
		other := redis.NewClient(redistest.InMemoryOptions(s.mini))
		s.Cleanup(func() { _ = other.Close() })
		thief, err := fencedlock.New(other, "lock", redlatch.WithLease(time.Minute), briefly.Linger(0)).Lock(s.Context())
		require.NoError(s, err)
		require.EqualValues(s, 10, thief.Token(), "above the block")
		s.give(next)
		require.EqualValues(s, 3, s.hold.Token())
		require.NoError(s, s.guard.For(s.hold).Claim(s.Context()), "nothing newer was seen")
		require.NoError(s, s.guard.For(thief).Set(s.Context(), "{lock}:state", "theirs"))
		require.ErrorIs(s, s.guard.For(s.hold).Set(s.Context(), "{lock}:state", "ours"), redlatch.ErrStale)
		time.Sleep(time.Second)
		require.ErrorIs(s, s.hold.Unlock(s.Context()), redlatch.ErrLost)
		s.hold = thief
	})
}

// The script that ends a streak, or re-enters within it, raises the counter to the last token of the block.
func TestACounterThatIsLostInAStreakGoesOnAboveItsTokens(t *testing.T) {
	for what, end := range map[string]func(s *streak){
		"a release":   func(s *streak) {},
		"a hand-over": func(s *streak) { s.give(s.wait(redlatch.WithLease(time.Minute))) },
		"a re-entry":  func(s *streak) { require.NoError(s, s.take(s.hold.Context(s.Context())).Unlock(s.Context())) },
		"a next block": func(s *streak) {
			for range 8 {
				s.give(s.wait())
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			onStreak(t, func(s *streak) {
				s.give(s.wait())
				before := s.hold.Token()
				s.mini.Del(counterKey)
				end(s)
				require.GreaterOrEqual(s, s.hold.Token(), before)
			})
		})
	}
}

func TestClockTokensOutliveTheirCounter(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, name, client := t.Context(), srv.Key(t, "lock"), srv.Client(t)
		lock := fencedlock.New(client, name, fencedlock.WithClockTokens())
		elsewhere := redistest.Mini(t).Client(t) // the guard has a server of its own, which forgets nothing
		guard := fencedlock.NewGuard(elsewhere, "lock")
		former, err := lock.Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, guard.For(former).Set(ctx, "state", "former"))

		for what, forget := range map[string]func(){
			"lost":      func() { require.NoError(t, client.Del(ctx, name, "redisson_lock_token:{"+name+"}").Err()) },
			"gone back": func() { require.NoError(t, client.Set(ctx, "redisson_lock_token:{"+name+"}", 7, 0).Err()) },
		} {
			_, err := lock.ForceUnlock(ctx)
			require.NoError(t, err)
			forget()
			holder, err := lock.Lock(ctx)
			require.NoError(t, err)
			require.NoError(t, guard.For(holder).Set(ctx, "state", what))
			require.ErrorIs(t, guard.For(former).Set(ctx, "state", "former"), redlatch.ErrStale)
			require.Equal(t, what, elsewhere.Get(ctx, "state").Val())
			_ = former.Unlock(ctx)
			former = holder
		}
		require.NoError(t, former.Unlock(ctx))
	})
}

// Without clock tokens a guard cannot know which of two owners of one token is the present one. It does not take both.
func TestOfTwoOwnersOfOneTokenTheGuardTakesTheFirst(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := t.Context(), srv.Client(t)
	lock, guard := fencedlock.New(client, "lock"), fencedlock.NewGuard(srv.Client(t), "lock")
	former, err := lock.Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, client.Del(ctx, "lock", counterKey).Err()) // as by a failover to a server that has neither
	holder, err := fencedlock.New(srv.Client(t), "lock").Lock(ctx)
	require.NoError(t, err)
	require.Equal(t, former.Token(), holder.Token())
	require.NoError(t, guard.For(holder).Set(ctx, "state", "theirs"))
	stale := guard.For(former).Set(ctx, "state", "ours")
	require.ErrorIs(t, stale, redlatch.ErrStale)
	require.ErrorContains(t, stale, `token 1 of "lock" from another owner`)
	require.ErrorIs(t, guard.For(former).Claim(ctx), redlatch.ErrStale)
	require.Equal(t, "theirs", client.Get(ctx, "state").Val())
	require.NoError(t, guard.For(token(former.Token())).Claim(ctx), "of a token whose owner is not known it cannot know")
	require.NoError(t, guard.For(holder).Set(ctx, "state", "again"))
	require.NoError(t, holder.Unlock(ctx))
	require.ErrorIs(t, former.Unlock(ctx), redlatch.ErrLost)
}
