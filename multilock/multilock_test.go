package multilock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

func TestLocksOfAnyKindOnAnyClients(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		other := redistest.Mini(t)
		ctx, client, far := cancellable(t), srv.Client(t), other.Client(t)
		members := []redlatch.Locker{
			spinlock.New(client, "spin", quiet...), rwlock.New(far, "rw", quiet...).Reader(), rlock.New(client, "plain", quiet...),
			rlock.NewNonReentrant(far, "strict", quiet...), fairlock.New(client, "fair", quiet...),
			multilock.NewGroup(far, "group", []string{"x", "y"}, quiet...),
		}
		members = append(members, multilock.New([]redlatch.Locker{rlock.New(far, "nested", quiet...)}))
		lock := multilock.New(members)
		require.Equal(t, "fair+group+nested+plain+rw+spin+strict", lock.Name())
		hold := take(t, lock, ctx)
		require.Empty(t, hold.Owner())
		require.Zero(t, hold.Token())
		require.True(t, hold.Valid())
		for _, m := range members {
			if m.Name() != "rw" {
				refused(t, m, ctx)
			}
		}
		refused(t, rwlock.New(far, "rw", quiet...).Writer(), ctx)
		require.NoError(t, hold.Unlock(ctx))
		free(t, members...)
		require.Empty(t, srv.Keys(t))
		require.Empty(t, other.Keys(t))
	})
}

func TestTheOrderGivenDoesNotMatterAndAMemberGivenTwiceIsTakenOnce(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	a, b := rlock.NewNonReentrant(client, "a", quiet...), rlock.New(client, "b", quiet...)
	lock := multilock.New([]redlatch.Locker{b, a, a})
	require.Equal(t, "a+b", lock.Name())
	require.NoError(t, take(t, lock, ctx).Unlock(ctx))

	same := multilock.New([]redlatch.Locker{b, rlock.New(client, "b", quiet...)}) // one lock by two values: taken twice, given back twice
	hold := take(t, same, ctx)
	count, err := client.HVals(ctx, "b").Result()
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, count)
	require.NoError(t, hold.Unlock(ctx))
	require.Empty(t, srv.Keys(t))

	_, err = multilock.New([]redlatch.Locker{a, rlock.NewNonReentrant(client, "a", quiet...)}).Lock(ctx)
	require.ErrorIs(t, err, redlatch.ErrNotReentrant, "else it would wait for itself")
	_, err = multilock.New([]redlatch.Locker{rwlock.New(client, "rw", quiet...).Reader(), rwlock.New(client, "rw", quiet...).Writer()}).Lock(ctx)
	require.ErrorIs(t, err, redlatch.ErrUpgrade)
	require.Empty(t, srv.Keys(t))
}

func TestNoMembersIsAMistake(t *testing.T) {
	require.Panics(t, func() { multilock.New([]redlatch.Locker{}) })
	require.Panics(t, func() { multilock.New([]redlatch.Locker{nil}) })
	require.Panics(t, func() { _, _ = new(multilock.Lock).TryLock(t.Context()) }, "a hold of nothing would exclude nobody")
}

// A Locker of the program may be a value in which something cannot be compared.
func TestAMemberThatCannotBeComparedIsAMember(t *testing.T) {
	type traced struct {
		redlatch.Locker
		tag any
	}
	srv := redistest.Mini(t)
	ctx := cancellable(t)
	member := traced{rlock.New(srv.Client(t), "a", quiet...), []string{"slow"}}
	require.NoError(t, take(t, multilock.New([]redlatch.Locker{member, member}), ctx).Unlock(ctx))
	require.Empty(t, srv.Keys(t))
}

func TestTheContextOpensWhatMultiLocksHaveInCommon(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	a, b, c := rlock.New(client, "a", quiet...), rlock.New(client, "b", quiet...), rlock.New(client, "c", quiet...)
	hold := take(t, multilock.New([]redlatch.Locker{a, b}), ctx)
	work := hold.Context(ctx)

	inner := take(t, multilock.New([]redlatch.Locker{b, c}), work)
	just, err := multilock.New([]redlatch.Locker{a}).TryLock(inner.Context(work))
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(ctx))
	refused(t, a, ctx)
	refused(t, b, ctx)
	require.NoError(t, inner.Unlock(ctx))
	free(t, b, c)
	refused(t, a, ctx)
	require.NoError(t, just.Unlock(ctx))
	require.Empty(t, srv.Keys(t))
}

// A member that is taken with the context of its own multi-lock does not wait for that: it is re-entered, or fails at once.
func TestTheContextOfAMultiLockOpensItsMembers(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	plain, both := rlock.New(client, "plain", quiet...), rwlock.New(client, "both", quiet...)
	once := rlock.NewNonReentrant(client, "once", quiet...)
	for what, lock := range map[string]*multilock.Lock{
		"its members":           multilock.New([]redlatch.Locker{plain, both, once}),
		"the members of one":    multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{plain, both}), once}),
		"the members of nested": multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{once, plain}), both})}),
	} {
		t.Run(what, func(t *testing.T) {
			hold := take(t, lock, ctx)
			work := hold.Context(ctx)
			inner := take(t, plain, work)
			count, err := plain.HoldCount(work)
			require.NoError(t, err)
			require.EqualValues(t, 2, count)
			reads, err := both.RLock(work)
			require.NoError(t, err)
			_, err = once.Lock(work)
			require.ErrorIs(t, err, redlatch.ErrNotReentrant)
			refused(t, plain, ctx) // without the context it is somebody else's
			refused(t, plain, redlatch.Detach(work))

			require.NoError(t, hold.Unlock(ctx))
			refused(t, plain, ctx) // the inner hold stays
			free(t, once)
			other, err := both.TryRLock(ctx)
			require.NoError(t, err, "only its reader is left")
			require.NoError(t, other.Unlock(ctx))
			require.NoError(t, inner.Unlock(ctx))
			require.NoError(t, reads.Unlock(ctx))
			free(t, plain)
		})
	}
}

func TestAMultiLockThatIsAMemberOpensWhatItHas(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	a, b, c := rlock.New(client, "a", quiet...), rlock.New(client, "b", quiet...), rlock.New(client, "c", quiet...)
	for what, lock := range map[string]*multilock.Lock{
		"one":                   multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{a, b}), c}),
		"one of one":            multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{a, b})}), c}),
		"with a member twice":   multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{a, b}), b, c}),
		"with a common member":  multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{a, b}), multilock.New([]redlatch.Locker{b, c})}),
		"with all its members":  multilock.New([]redlatch.Locker{c, b, multilock.New([]redlatch.Locker{b, a}), a}),
		"deep and a common one": multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{multilock.New([]redlatch.Locker{a, b}), b}), b, c}),
	} {
		t.Run(what, func(t *testing.T) {
			hold, err := lock.TryLock(ctx)
			require.NoError(t, err)
			inner, err := multilock.New([]redlatch.Locker{b}).TryLock(hold.Context(ctx))
			require.NoError(t, err)
			again, err := lock.TryLock(inner.Context(hold.Context(ctx)))
			require.NoError(t, err)
			refused(t, b, ctx)
			for _, h := range []*redlatch.Hold{hold, again, inner} {
				require.NoError(t, h.Unlock(ctx))
			}
			require.Empty(t, srv.Keys(t))
		})
	}
}

func TestAMemberThatTheCallerHoldsIsReentered(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	a, b := rlock.New(client, "a", quiet...), rlock.New(client, "b", quiet...)
	outer := take(t, a, ctx)
	hold, err := multilock.New([]redlatch.Locker{a, b}).TryLock(outer.Context(ctx))
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(ctx))
	refused(t, a, ctx)
	require.NoError(t, outer.Unlock(ctx))
	require.Empty(t, srv.Keys(t))
}

func TestARefusalNamesTheMemberAndLeavesNothing(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := cancellable(t), srv.Client(t)
		mine := func(name string) *rlock.Lock { return rlock.New(client, name, quiet...) }
		busy := take(t, rlock.New(srv.Client(t), "c", quiet...), ctx)
		lock := multilock.New([]redlatch.Locker{mine("a"), mine("b"), mine("c"), mine("d")})
		_, err := lock.TryLock(ctx)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorContains(t, err, `redlatch: not acquired: multi-lock "a+b+c+d": lock "c"`)
		free(t, mine("a"), mine("b"), mine("d"))
		// A wait long enough for rounds that begin with the busy one.
		_, err = lock.Lock(ctx, redlatch.WithWait(1200*time.Millisecond))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		free(t, mine("a"), mine("b"), mine("d"))
		require.NoError(t, busy.Unlock(ctx))
		// An attempt that was on its way when the wait ended may take the member that is free, until it is undone.
		eventually(t, "nothing is left", func() bool { return len(srv.Keys(t)) == 0 })
	})
}

// While a member is busy for long, the others are free most of the time, not held by who waits.
func TestWhoWaitsForLongHoldsNothing(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	busy := take(t, rlock.New(srv.Client(t), "b", quiet...), ctx)
	got := make(chan error, 1)
	go func() {
		hold, err := multilock.New([]redlatch.Locker{rlock.New(client, "a", quiet...), rlock.New(client, "b", quiet...)}).Lock(ctx)
		if err == nil {
			err = hold.Unlock(ctx)
		}
		got <- err
	}()
	eventually(t, "the waiter waits for b", func() bool {
		info, err := rlock.New(client, "b", quiet...).Inspect(ctx)
		return err == nil && info.Waiters == 1
	})
	free(t, rlock.New(srv.Client(t), "a", quiet...))
	select {
	case err := <-got:
		t.Fatalf("b was not free: %v", err)
	default:
	}
	require.NoError(t, busy.Unlock(ctx))
	require.NoError(t, <-got)
}

func TestTheLossOfOneIsTheLossOfAll(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := cancellable(t), srv.Client(t)
		a, b := rlock.New(client, "a", quiet...), rlock.New(client, "b", quiet...)
		for _, gone := range []string{"a", "b"} {
			hold := take(t, multilock.New([]redlatch.Locker{a, b}), ctx, redlatch.WithWatchdogTimeout(3*time.Second))
			work := hold.Context(ctx)
			require.NoError(t, client.Del(ctx, gone).Err())
			select {
			case <-work.Done():
			case <-time.After(patience):
				t.Fatal("the loss was not noticed")
			}
			var loss *redlatch.LossError
			require.ErrorAs(t, context.Cause(work), &loss)
			require.Equal(t, "a+b", loss.Name)
			require.ErrorContains(t, loss, gone)
			require.False(t, hold.Valid())
			require.False(t, hold.Until().After(time.Now()))
			require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
			free(t, a, b)
			eventually(t, "nothing stays", func() bool { return len(srv.Keys(t)) == 0 }) // what REDLATCH_REGISTRY may have written goes later
		}
	})
}

// A program that hangs after a loss does not keep the other members.
func TestAfterALossTheOthersAreGivenBackAlsoWithoutUnlock(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	a, b := rlock.New(client, "a", quiet...), rlock.New(client, "b", quiet...)
	hold := take(t, multilock.New([]redlatch.Locker{a, b}), ctx, redlatch.WithWatchdogTimeout(3*time.Second))
	require.NoError(t, client.Del(ctx, "a").Err())
	eventually(t, "b is given back", func() bool { return len(srv.Keys(t)) == 0 })
	require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
	runtime.KeepAlive(hold)
}

func TestUnlockGivesAllBackAndJoinsWhatWentWrong(t *testing.T) {
	near, far := redistest.Mini(t), redistest.Process(t)
	ctx := cancellable(t)
	opts := with(redlatch.WithReleaseTimeout(time.Second))
	a, b, c := rlock.New(near.Client(t), "a", opts...), rlock.New(far.Client(t), "b", opts...), rlock.New(near.Client(t), "c", opts...)
	hold := take(t, multilock.New([]redlatch.Locker{a, b, c}), ctx)
	far.Stop()
	err := hold.Unlock(ctx)
	require.ErrorIs(t, err, redlatch.ErrUncertain)
	require.ErrorContains(t, err, `"b"`)
	require.Empty(t, near.Keys(t))
	far.Continue()
	eventually(t, "the release is repeated", func() bool { return len(far.Keys(t)) == 0 })
}

// Each server loses its reply, or fails, in turn. Whatever Lock says, nothing of it stays.
func TestAnAcquisitionThatFailsLeavesNothingWhateverHappened(t *testing.T) {
	for name, action := range map[string]faultproxy.Action{
		"reply lost": faultproxy.DropReply, "closed after": faultproxy.CloseAfter, "closed before": faultproxy.CloseBefore,
		"request lost": faultproxy.DropRequest,
	} {
		t.Run(name, func(t *testing.T) {
			near, far := redistest.Process(t), redistest.Process(t)
			ctx := cancellable(t)
			proxy := faultproxy.New(t, far.Addr)
			through := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: 200 * time.Millisecond})
			t.Cleanup(func() { _ = through.Close() })
			require.NoError(t, through.Ping(ctx).Err())
			proxy.On(faultproxy.Named("EVALSHA", "EVAL"), 1, action)
			lock := multilock.New([]redlatch.Locker{rlock.New(near.Client(t), "a", quiet...), rlock.New(through, "b", quiet...),
				rlock.New(near.Client(t), "c", quiet...)})
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			hold, err := lock.Lock(short)
			if err == nil {
				require.NoError(t, hold.Unlock(ctx))
			} else {
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody has it")
				require.True(t, errors.Is(err, redlatch.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
			}
			eventually(t, "nothing is left", func() bool { return len(near.Keys(t))+len(far.Keys(t)) == 0 })
		})
	}
}

func TestAServerThatIsDownIsAnErrorAndLeavesNothingOnTheOthers(t *testing.T) {
	near, far := redistest.Process(t), redistest.Process(t)
	ctx := cancellable(t)
	lock := multilock.New([]redlatch.Locker{rlock.New(near.Client(t), "a", quiet...), rlock.New(far.Client(t), "b", quiet...)})
	far.Kill()
	for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
		_, err := ask(ctx, redlatch.WithOutage(100*time.Millisecond))
		require.Error(t, err)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorContains(t, err, "refused")
		require.Empty(t, near.Keys(t))
	}
}

// A slow lock is acquired after a while, however long its caller wants to wait.
type slow struct {
	redlatch.Locker
	takes time.Duration
}

func (s slow) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	time.Sleep(s.takes)
	return s.Locker.Lock(ctx, opts...)
}

// With a lease the first members have used up some of theirs when the last is held.
func TestAllMembersHaveTheWholeLeaseHoweverLongTheLastWasWaitedFor(t *testing.T) {
	srv := redistest.Process(t)
	ctx, client := cancellable(t), srv.Client(t)
	const lease = 20 * time.Second
	lock := multilock.New([]redlatch.Locker{rlock.New(client, "a", quiet...), slow{rlock.New(client, "b", quiet...), lease / 5}})
	hold := take(t, lock, ctx, redlatch.WithLease(lease))
	pipe := client.TxPipeline()
	ofA, ofB := pipe.PTTL(ctx, "a"), pipe.PTTL(ctx, "b")
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	a, b := ofA.Val(), ofB.Val()
	require.Greater(t, a, b-lease/10, "a was held for a fifth of its lease before b was")
	require.True(t, hold.Until().Before(time.Now().Add(min(a, b))))
	require.NoError(t, hold.Unlock(ctx))
}

func TestOptionsMustSuitEveryMember(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	lock := multilock.New([]redlatch.Locker{fairlock.New(client, "a", quiet...), rlock.New(client, "b", quiet...)})
	_, err := lock.Lock(ctx, fairlock.WithPatience(time.Second))
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.Empty(t, srv.Keys(t))
	require.NoError(t, take(t, lock, ctx).Unlock(ctx))
}

func TestTheWaitOfAMemberIsNotTheWaitOfAll(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	lock := multilock.New([]redlatch.Locker{rlock.New(client, "a", with(redlatch.WithWait(time.Second))...), rlock.New(client, "b", quiet...)})
	busy := take(t, rlock.New(srv.Client(t), "a", quiet...), ctx)
	_, err := lock.Lock(ctx)
	require.ErrorIs(t, err, redlatch.ErrNotAcquired, "a member's own limit is kept")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = lock.TryLock(ctx)
	require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	require.False(t, errors.Is(err, context.DeadlineExceeded))
	require.NoError(t, busy.Unlock(ctx))
}
