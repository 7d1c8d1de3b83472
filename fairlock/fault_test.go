package fairlock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A rig is a server with two ways to it: one is faulty.
type rig struct {
	direct *redis.Client
	proxy  *faultproxy.Proxy
	faulty *redis.Client
	name   string
	good   *fairlock.Lock
	bad    *fairlock.Lock
}

// newRig's faulty client gives up on a reply after a quarter of a second, or after patience.
func newRig(t *testing.T, patience ...time.Duration) *rig {
	srv := redistest.Real(t)
	r := &rig{direct: srv.Client(t), proxy: faultproxy.New(t, srv.Addr), name: srv.Key(t, "fair")}
	r.faulty = redis.NewClient(&redis.Options{Addr: r.proxy.Addr(), ReadTimeout: append(patience, 250*time.Millisecond)[0]})
	t.Cleanup(func() { require.NoError(t, r.faulty.Close()) })
	opts := []redlatch.Option{redlatch.WithPoll(100 * time.Millisecond), briefly.Linger(0)}
	r.good, r.bad = fairlock.New(r.direct, r.name, opts...), fairlock.New(r.faulty, r.name, opts...)
	return r
}

// asks matches attempts on the lock, and gives its releases: both have five keys and six arguments or more, of which the second
// is a lease or the command of the message.
func (r *rig) asks(c faultproxy.Command) bool  { return r.script(c) && !r.gives(c) }
func (r *rig) gives(c faultproxy.Command) bool { return r.script(c) && c.Args[8] == "PUBLISH" }

func (r *rig) script(c faultproxy.Command) bool {
	return (c.Name == "EVALSHA" || c.Name == "EVAL") && len(c.Args) > 7 && c.Args[1] == "5" && c.Args[2] == r.name
}

// carries matches an attempt that makes the entry of one more waiter.
func (r *rig) carries(c faultproxy.Command) bool {
	return r.asks(c) && len(c.Args) > 14 && c.Args[14] == "1"
}

// warm makes the server know the scripts, so that a rule does not meet an attempt that is answered NOSCRIPT.
func (r *rig) warm(t *testing.T) {
	t.Helper()
	hold, err := r.good.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
}

type result struct {
	hold *redlatch.Hold
	err  error
}

func wait(lock *fairlock.Lock, ctx context.Context, opts ...redlatch.Option) <-chan result {
	done := make(chan result, 1)
	go func() {
		hold, err := lock.Lock(ctx, opts...)
		done <- result{hold, err}
	}()
	return done
}

func (r *rig) get(t *testing.T, done <-chan result) result {
	t.Helper()
	select {
	case got := <-done:
		return got
	case <-time.After(patient):
		t.Fatal("the call did not return")
		return result{}
	}
}

// late lets the reply through when the call has returned, so that it cannot be in time.
func (r *rig) late(t *testing.T, done <-chan result, rule *faultproxy.Rule) <-chan result {
	t.Helper()
	got := make(chan result, 1)
	got <- r.get(t, done)
	rule.Release()
	return got
}

// passes tells that the lock can be had, that is, that nothing in the queue or in the lock stands in the way.
func (r *rig) passes(t *testing.T) {
	t.Helper()
	got := r.get(t, wait(r.good, t.Context()))
	require.NoError(t, got.err)
	require.NoError(t, got.hold.Unlock(t.Context()))
}

// A waiter's attempts have no known outcome for a while. It is still in the queue, where it was, when that is over: to
// settle the doubt by leaving would cost it its place.
func TestAWaiterInDoubtKeepsItsPlace(t *testing.T) {
	for name, action := range map[string]faultproxy.Action{
		"the reply is lost":    faultproxy.DropReply,
		"the request is lost":  faultproxy.DropRequest,
		"the connection ended": faultproxy.ResetAfter,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.warm(t)
			holder, err := r.good.Lock(t.Context())
			require.NoError(t, err)
			first := r.proxy.On(r.asks, 1, action)
			one := wait(r.bad, t.Context())
			first.AwaitHits(t, 1)
			queued(t, r.direct, r.name, 1)
			two := wait(r.good, t.Context())
			queued(t, r.direct, r.name, 2)
			order := queueOf(t, r.direct, r.name)

			later := r.proxy.On(r.asks, 2, action) // attempts that confirm a place
			later.AwaitHits(t, 2)
			// A settling would come within a quarter of a second, and again after each next one.
			until := time.Now().Add(1500 * time.Millisecond)
			for time.Now().Before(until) {
				require.Equal(t, order, queueOf(t, r.direct, r.name))
				time.Sleep(5 * time.Millisecond)
			}
			require.NoError(t, holder.Unlock(t.Context()))
			got := r.get(t, one)
			require.NoError(t, got.err)
			require.Equal(t, order[0], got.hold.Owner())
			require.NoError(t, got.hold.Unlock(t.Context()))
			got = r.get(t, two)
			require.NoError(t, got.err)
			require.NoError(t, got.hold.Unlock(t.Context()))
			nothingLeft(t, r.direct, r.name)
		})
	}
}

// The command that makes the entry is executed when its caller has left and the leaving is done.
func TestAnEntryMadeAfterTheWaiterHasLeftIsTakenOutAgain(t *testing.T) {
	r := newRig(t)
	r.warm(t)
	holder, err := r.good.Lock(t.Context())
	require.NoError(t, err)
	ghost := r.proxy.On(r.asks, 1, faultproxy.Hold)
	leaves := r.proxy.On(r.gives, 0, faultproxy.Delay(0))
	ctx, cancel := context.WithCancel(t.Context())
	one := wait(r.bad, ctx)
	ghost.AwaitHits(t, 1)
	cancel()
	left := r.get(t, one).err
	require.ErrorIs(t, left, context.Canceled)
	require.NotErrorIs(t, left, redlatch.ErrNotAcquired, "nobody has said anything")
	leaves.AwaitExecuted(t, 1)

	seen := make(chan struct{}) // the entry is there for a moment
	go func() {
		defer close(seen)
		for len(queueOf(t, r.direct, r.name)) == 0 {
			time.Sleep(time.Millisecond)
		}
	}()
	ghost.Release()
	ghost.AwaitExecuted(t, 1)
	select {
	case <-seen:
	case <-time.After(patient):
		t.Fatal("the late command made no entry")
	}
	nothingLeft(t, r.direct, r.name)
	require.NoError(t, holder.Unlock(t.Context()))
	r.passes(t)
}

// The command makes the entries of two, and is executed a second time when both have left.
func TestEntriesThatAreMadeASecondTimeAreTakenOutAgain(t *testing.T) {
	r := newRig(t, 2*time.Second)
	r.warm(t)
	holder, err := r.good.Lock(t.Context())
	require.NoError(t, err)
	door := r.proxy.On(r.asks, 1, faultproxy.HoldReply)
	first := wait(r.bad, t.Context())
	door.AwaitHits(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	one, two := wait(r.bad, ctx), wait(r.bad, ctx)
	soon(t, "all wait", func() bool { info, err := r.bad.Inspect(t.Context()); return err == nil && info.Waiters == 3 })
	ghost := r.proxy.On(r.carries, 1, faultproxy.Hold)
	door.Release()
	ghost.AwaitHits(t, 1)
	queued(t, r.direct, r.name, 3)
	cancel()
	for _, done := range []<-chan result{one, two} {
		require.ErrorIs(t, r.get(t, done).err, context.Canceled)
	}
	queued(t, r.direct, r.name, 1)
	ghost.Release()
	ghost.AwaitExecuted(t, 1)
	queued(t, r.direct, r.name, 1)
	require.NoError(t, holder.Unlock(t.Context()))
	got := r.get(t, first)
	require.NoError(t, got.err)
	require.NoError(t, got.hold.Unlock(t.Context()))
	nothingLeft(t, r.direct, r.name)
}

// The same when the lock is free by then: the ghost takes it, for nobody.
func TestALockTakenAfterTheWaiterHasLeftIsGivenBack(t *testing.T) {
	r := newRig(t, 2*time.Second) // else the lock is taken by a second attempt before the waiter leaves
	r.warm(t)
	ghost := r.proxy.On(r.asks, 1, faultproxy.Hold)
	leaves := r.proxy.On(r.gives, 0, faultproxy.Delay(0))
	ctx, cancel := context.WithCancel(t.Context())
	one := wait(r.bad, ctx)
	ghost.AwaitHits(t, 1)
	cancel()
	left := r.get(t, one).err
	require.ErrorIs(t, left, context.Canceled)
	require.NotErrorIs(t, left, redlatch.ErrNotAcquired, "nobody has said anything")
	leaves.AwaitExecuted(t, 1)
	ghost.Release()
	ghost.AwaitExecuted(t, 1)
	r.passes(t)
	nothingLeft(t, r.direct, r.name)
}

// Wherever the wait ends, no entry is left and whoever is behind gets the lock.
func TestCancellationAtEveryPointLeavesNothingBehind(t *testing.T) {
	// Where Redis has put the waiter into the queue it has said that somebody else has the lock.
	refused := map[string]bool{"in the queue": true, "while a later attempt is under way": true, "when it has been granted and does not know": true}
	for name, run := range map[string]func(t *testing.T, r *rig, holder *redlatch.Hold, ctx context.Context, cancel func()) <-chan result{
		"before the call": func(t *testing.T, r *rig, _ *redlatch.Hold, ctx context.Context, cancel func()) <-chan result {
			cancel()
			return wait(r.bad, ctx)
		},
		"at the door, behind another call": func(t *testing.T, r *rig, _ *redlatch.Hold, ctx context.Context, cancel func()) <-chan result {
			other, leave := context.WithCancel(t.Context())
			first := r.proxy.On(r.asks, 1, faultproxy.HoldReply)
			one := wait(r.bad, other)
			first.AwaitHits(t, 1)
			two := wait(r.bad, ctx)
			soon(t, "the call waits", func() bool { info, err := r.bad.Inspect(t.Context()); return err == nil && info.Waiters == 2 })
			cancel()
			got := make(chan result, 1)
			got <- r.get(t, two) // before the first call's answer, which the second may hear of as well
			leave()
			first.Release()
			require.ErrorIs(t, r.get(t, one).err, context.Canceled)
			return got
		},
		"while the first attempt is under way": func(t *testing.T, r *rig, _ *redlatch.Hold, ctx context.Context, cancel func()) <-chan result {
			rule := r.proxy.On(r.asks, 1, faultproxy.HoldReply)
			one := wait(r.bad, ctx)
			rule.AwaitExecuted(t, 1)
			cancel()
			return r.late(t, one, rule)
		},
		"in the queue": func(t *testing.T, r *rig, _ *redlatch.Hold, ctx context.Context, cancel func()) <-chan result {
			asks := r.proxy.On(r.asks, 2, faultproxy.Delay(0))
			one := wait(r.bad, ctx)
			asks.AwaitHits(t, 2) // it asks again, so it knows the first answer
			cancel()
			return one
		},
		"while a later attempt is under way": func(t *testing.T, r *rig, _ *redlatch.Hold, ctx context.Context, cancel func()) <-chan result {
			one := wait(r.bad, ctx)
			queued(t, r.direct, r.name, 1)
			rule := r.proxy.On(r.asks, 1, faultproxy.HoldReply)
			rule.AwaitExecuted(t, 1)
			cancel()
			return r.late(t, one, rule)
		},
		"when it has been granted and does not know": func(t *testing.T, r *rig, holder *redlatch.Hold, ctx context.Context, cancel func()) <-chan result {
			one := wait(r.bad, ctx)
			queued(t, r.direct, r.name, 1)
			waiter := queueOf(t, r.direct, r.name)[0]
			r.proxy.DropMessages(true) // that of a release would tell it
			rule := r.proxy.On(r.asks, 0, faultproxy.HoldReply)
			require.NoError(t, holder.Unlock(t.Context()))
			soon(t, "the waiter holds", func() bool { return r.direct.HExists(t.Context(), r.name, waiter).Val() })
			cancel()
			rule.Remove()
			return r.late(t, one, rule)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.warm(t)
			holder, err := r.good.Lock(t.Context())
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := r.get(t, run(t, r, holder, ctx, cancel))
			require.Equal(t, refused[name], errors.Is(got.err, redlatch.ErrNotAcquired), "%v", got.err)
			require.ErrorIs(t, got.err, context.Canceled)
			require.NotErrorIs(t, got.err, redlatch.ErrUnavailable)
			nothingLeft(t, r.direct, r.name)
			if holder.Context(t.Context()).Err() == nil {
				require.NoError(t, holder.Unlock(t.Context()))
			}
			r.passes(t)
		})
	}
}

// The message to the head is on its way when the head leaves: the next one must not wait for its poll.
func TestALeavingHeadPassesTheHandOverOn(t *testing.T) {
	r := newRig(t)
	long := redlatch.WithPoll(time.Hour)
	holder, err := r.good.Lock(t.Context())
	require.NoError(t, err)
	r.proxy.DropMessages(true) // so that the head does not hear it
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	one := wait(r.bad, ctx, long, fairlock.WithPatience(time.Hour))
	queued(t, r.direct, r.name, 1)
	head := queueOf(t, r.direct, r.name)[0]
	soon(t, "the head listens", func() bool {
		channel := keys.LockChannel(r.name) + ":" + head
		return r.direct.PubSubNumSub(t.Context(), channel).Val()[channel] == 1
	})
	two := wait(r.good, t.Context(), long, fairlock.WithPatience(time.Hour))
	queued(t, r.direct, r.name, 2)
	require.NoError(t, holder.Unlock(t.Context()))
	soon(t, "the head's message was lost", func() bool { return r.proxy.DroppedMessages() > 0 })
	cancel()
	require.ErrorIs(t, r.get(t, one).err, context.Canceled)
	got := r.get(t, two)
	require.NoError(t, got.err)
	require.NoError(t, got.hold.Unlock(t.Context()))
}

func TestWithoutMessagesWaitersArePolledFor(t *testing.T) {
	r := newRig(t)
	r.proxy.DropMessages(true)
	r.bad = fairlock.New(r.faulty, r.name, redlatch.WithPoll(100*time.Millisecond), briefly.Linger(0), redlatch.WithoutLocalHandOff())
	holder, err := r.good.Lock(t.Context())
	require.NoError(t, err)
	var waiting []<-chan result
	for n := range 5 {
		waiting = append(waiting, wait(r.bad, t.Context()))
		queued(t, r.direct, r.name, n+1)
	}
	order := queueOf(t, r.direct, r.name)
	require.NoError(t, holder.Unlock(t.Context()))
	for n, done := range waiting {
		got := r.get(t, done)
		require.NoError(t, got.err)
		require.Equal(t, order[n], got.hold.Owner())
		require.NoError(t, got.hold.Unlock(t.Context()))
	}
	nothingLeft(t, r.direct, r.name)
}

// The queue is taken away under the waiters, wholly or in part. They stand again, and nobody waits for ever.
func TestLostKeysOfTheQueueBlockNobody(t *testing.T) {
	for name, lost := range map[string]func(name string) []string{
		"the queue":           func(name string) []string { return []string{keys.FairQueue(name)} },
		"the deadlines":       func(name string) []string { return []string{keys.FairTimeouts(name)} },
		"the signs of life":   func(name string) []string { return []string{keys.FairAlive(name)} },
		"deadlines and signs": func(name string) []string { return []string{keys.FairTimeouts(name), keys.FairAlive(name)} },
		"everything, and the lock": func(name string) []string {
			return []string{name, keys.FairQueue(name), keys.FairTimeouts(name), keys.FairAlive(name)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			holder, err := r.good.Lock(t.Context(), redlatch.WithLease(3*time.Second))
			require.NoError(t, err)
			var waiting []<-chan result
			for n := range 4 {
				waiting = append(waiting, wait([]*fairlock.Lock{r.good, r.bad}[n%2], t.Context()))
				queued(t, r.direct, r.name, n+1)
			}
			require.NoError(t, r.direct.Del(t.Context(), lost(r.name)...).Err())
			for len(waiting) > 0 {
				waiting = slices.DeleteFunc(waiting, func(done <-chan result) bool {
					select {
					case got := <-done:
						require.NoError(t, got.err)
						require.NoError(t, got.hold.Unlock(t.Context()))
						return true
					case <-time.After(time.Millisecond):
						return false
					}
				})
			}
			require.ErrorIs(t, holder.Unlock(t.Context()), redlatch.ErrLost, "its lease is over")
			nothingLeft(t, r.direct, r.name)
		})
	}
}
