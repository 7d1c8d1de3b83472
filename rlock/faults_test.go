package rlock_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A rig is a lock whose client goes through a proxy, and a client that does not.
type rig struct {
	srv    *redistest.Server
	proxy  *faultproxy.Proxy
	client *redis.Client
	direct *redis.Client
	name   string
}

// newRig makes the time-outs short: what hangs in these tests has to end.
func newRig(t *testing.T, srv *redistest.Server) *rig {
	r := &rig{srv: srv, proxy: faultproxy.New(t, srv.Addr), direct: srv.Client(t), name: srv.Key(t, "lock")}
	r.client = srv.Client(t, func(o *redis.Options) {
		o.Addr = r.proxy.Addr()
		o.ReadTimeout, o.WriteTimeout, o.DialTimeout = 300*time.Millisecond, 300*time.Millisecond, time.Second
	})
	return r
}

func (r *rig) lock(opts ...redlatch.Option) *rlock.Lock {
	return rlock.New(r.client, r.name, with(opts...)...)
}

func (r *rig) locked(t *testing.T) bool {
	t.Helper()
	n, err := r.direct.Exists(t.Context(), r.name).Result()
	require.NoError(t, err)
	return n > 0
}

var script = faultproxy.Named("EVALSHA", "EVAL")

// The command was executed and its answer lost, in every way that a connection has: the effect is there once, and the
// caller is told of success.
func TestALostReplyDoesNoHarm(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]faultproxy.Action{
		"no answer": faultproxy.DropReply, "half an answer": faultproxy.HalfReply, "closed": faultproxy.CloseAfter,
		"reset": faultproxy.ResetAfter, "closed before": faultproxy.CloseBefore, "no request": faultproxy.DropRequest,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				ctx, r := cancellable(t), newRig(t, srv)
				lock := r.lock()
				warm := take(t, lock, ctx) // the server learns the scripts
				require.NoError(t, take(t, lock, warm.Context(ctx)).Unlock(ctx))
				require.NoError(t, warm.Unlock(ctx))
				// harm makes the next command suffer, and requires that step met it.
				harm := func(step func()) {
					t.Helper()
					rule := r.proxy.On(script, 1, action)
					step()
					require.Equal(t, 1, rule.Hits())
				}
				counts := func(owner string, want int) {
					t.Helper()
					require.Equal(t, want, count(t, r.direct, r.name, owner))
				}
				var outer, inner *redlatch.Hold
				harm(func() { outer = take(t, lock, ctx) })
				counts(outer.Owner(), 1)
				harm(func() { inner = take(t, lock, outer.Context(ctx)) })
				counts(outer.Owner(), 2)
				harm(func() { require.NoError(t, outer.Extend(ctx, time.Minute)) })
				counts(outer.Owner(), 2)
				require.Greater(t, r.direct.PTTL(ctx, r.name).Val(), 40*time.Second)
				harm(func() { require.NoError(t, inner.Unlock(ctx)) })
				counts(outer.Owner(), 1)
				harm(func() { require.NoError(t, outer.Unlock(ctx)) })
				require.False(t, r.locked(t))
			})
		})
	}
}

// The request of an acquisition is kept until long after the lock was given back: the ghost takes it, and settling
// gives it back.
func TestAGhostOfAnAcquisitionDoesNotKeepTheLock(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, r := cancellable(t), newRig(t, srv)
		require.NoError(t, r.lock().Do(ctx, func(context.Context) error { return nil }))
		ghost := r.proxy.On(script, 1, faultproxy.Hold)
		hold := take(t, r.lock(), ctx)
		require.NoError(t, hold.Unlock(ctx))
		require.False(t, r.locked(t))
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		eventually(t, "the ghost's lock is given back", func() bool { return !r.locked(t) })
	})
}

func TestAnAbandonedReentryLeavesTheOuterHoldAlone(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, r := cancellable(t), newRig(t, srv)
		// Nothing hangs here, and a re-entry that is sent again before the test has cancelled it succeeds.
		r.client = srv.Client(t, func(o *redis.Options) { o.Addr = r.proxy.Addr() })
		lock := r.lock()
		outer := take(t, lock, ctx)
		require.NoError(t, take(t, lock, outer.Context(ctx)).Unlock(ctx))
		slow := r.proxy.On(script, 1, faultproxy.Hold)
		short, cancel := context.WithCancel(outer.Context(ctx))
		ended := make(chan error, 1)
		go func() { _, err := lock.Lock(short); ended <- err }()
		slow.AwaitHits(t, 1)
		cancel()
		require.ErrorIs(t, <-ended, redlatch.ErrNotAcquired)
		slow.Release()
		slow.AwaitExecuted(t, 1)
		eventually(t, "one hold is counted", func() bool { return count(t, r.direct, r.name, outer.Owner()) == 1 })
		require.True(t, outer.Valid())
		require.NoError(t, outer.Unlock(ctx))
		require.False(t, r.locked(t))
	})
}

// Against a stopped server Lock returns because its context ends: the client itself would wait for a minute.
func TestLockReturnsWithItsContextAlsoWhenTheServerStandsStill(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t, func(o *redis.Options) {
		o.ReadTimeout, o.WriteTimeout, o.DialTimeout = time.Minute, time.Minute, time.Minute
	})
	ctx := cancellable(t)
	lock := rlock.New(client, "lock", quiet...)
	require.NoError(t, lock.Do(ctx, func(context.Context) error { return nil }))

	srv.Stop()
	waits, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	deadline, _ := waits.Deadline()
	_, err := lock.Lock(waits)
	late := time.Since(deadline)
	require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody has said anything")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, late, 30*time.Second, "it waited for the client's time-out")
	t.Logf("returned %v after the deadline", late)

	srv.Continue()
	direct := srv.Client(t)
	eventually(t, "what was under way is given back", func() bool {
		return direct.Exists(ctx, "lock").Val() == 0
	})
	hold := take(t, lock, ctx)
	require.NoError(t, hold.Unlock(ctx))
	require.Empty(t, srv.Keys(t))
}

// The same against a peer that never answers, where lateness can be told exactly: there is none.
func TestLockReturnsExactlyAtItsDeadlineAgainstASilentPeer(t *testing.T) {
	for name, ask := range map[string]func(*rlock.Lock, context.Context) error{
		"Lock":    func(l *rlock.Lock, ctx context.Context) error { _, err := l.Lock(ctx); return err },
		"TryLock": func(l *rlock.Lock, ctx context.Context) error { _, err := l.TryLock(ctx); return err },
		"WithWait": func(l *rlock.Lock, ctx context.Context) error {
			_, err := l.Lock(context.Background(), redlatch.WithWait(1234*time.Millisecond))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := redis.NewClient(&redis.Options{
					Addr: "silent",
					Dialer: func(context.Context, string, string) (net.Conn, error) {
						ours, theirs := net.Pipe()
						go func() { // reads everything and says nothing
							buffer := make([]byte, 4096)
							for {
								if _, err := theirs.Read(buffer); err != nil {
									return
								}
							}
						}()
						return ours, nil
					},
					ReadTimeout: time.Hour, WriteTimeout: time.Hour, PoolSize: 100,
					MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
				})
				ctx, cancel := context.WithTimeout(context.Background(), 1234*time.Millisecond)
				defer cancel()
				start := time.Now()
				err := ask(rlock.New(client, "lock", quiet...), ctx)
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody has said anything")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 1234*time.Millisecond, time.Since(start))
				require.NoError(t, client.Close())
				time.Sleep(2 * time.Hour) // what was under way gives up
			})
		})
	}
}

// The server is down when the lock is given back, and comes back with its data: the key is deleted then, not when the
// lease is over.
func TestUnlockOfAServerThatIsDownIsMadeUpFor(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always")
	r := newRig(t, srv)
	ctx := cancellable(t)
	lock := r.lock(redlatch.WithReleaseTimeout(time.Second), redlatch.WithWatchdogTimeout(10*time.Minute))
	hold := take(t, lock, ctx)
	srv.Kill()
	err := hold.Unlock(ctx)
	require.Error(t, err)
	require.NotErrorIs(t, err, redlatch.ErrLost)
	require.ErrorContains(t, err, "background")
	require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrReleased)
	srv.Restart()
	eventually(t, "the key is deleted, ten minutes before its lease is over", func() bool { return !r.locked(t) })
}

func TestALockDeletedUnderItsHolderIsNotCreatedAgain(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, r := cancellable(t), newRig(t, srv)
		hold := take(t, r.lock(redlatch.WithWatchdogTimeout(3*time.Second)), ctx)
		work := hold.Context(ctx)
		require.NoError(t, r.direct.Del(ctx, r.name).Err())
		<-work.Done()
		require.ErrorIs(t, context.Cause(work), redlatch.ErrLost)
		require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
		require.False(t, r.locked(t))
	})
}

// All messages are dropped: nobody is woken, and everybody is served by polling.
func TestLostMessagesAreMadeUpForByPolling(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, r := cancellable(t), newRig(t, srv)
		r.proxy.DropMessages(true)
		holder := take(t, rlock.New(r.direct, r.name, quiet...), ctx)
		lock := r.lock(redlatch.WithPoll(200 * time.Millisecond))
		got := make(chan error, 3)
		for range cap(got) {
			go func() { got <- lock.Do(ctx, func(context.Context) error { return nil }) }()
		}
		eventually(t, "all wait", func() bool {
			info, err := lock.Inspect(ctx)
			require.NoError(t, err)
			return info.Waiters == int64(cap(got))
		})
		channel := keys.LockChannel(r.name)
		eventually(t, "a subscription", func() bool { return r.direct.PubSubNumSub(ctx, channel).Val()[channel] == 1 })
		require.NoError(t, holder.Unlock(ctx))
		for range cap(got) {
			require.NoError(t, <-got)
		}
		require.Positive(t, r.proxy.DroppedMessages())
	})
}

// A force-unlock whose answer is lost may have been executed. Made again, it would take the lock from whoever came next.
func TestAForceUnlockOfUnknownOutcomeIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, r := cancellable(t), newRig(t, srv)
		r.client = srv.Client(t, func(o *redis.Options) { o.Addr = r.proxy.Addr() })
		others := rlock.New(r.direct, r.name, quiet...)
		first := take(t, others, ctx)
		_, err := rlock.New(r.client, srv.Key(t, "another"), quiet...).ForceUnlock(ctx) // the server learns the script
		require.NoError(t, err)

		lost := r.proxy.On(script, 1, faultproxy.HoldReply)
		answer := make(chan error, 1)
		go func() { _, err := r.lock().ForceUnlock(ctx); answer <- err }()
		lost.AwaitExecuted(t, 1)
		second := take(t, others, ctx)
		r.proxy.CutAll()
		require.ErrorIs(t, <-answer, redlatch.ErrUncertain)
		require.Equal(t, 1, count(t, r.direct, r.name, second.Owner()), "the next holder was thrown out too")
		require.NoError(t, second.Unlock(ctx))
		require.ErrorIs(t, first.Unlock(ctx), redlatch.ErrLost)
	})
}
