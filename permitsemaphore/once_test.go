package permitsemaphore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// An operation works on a semaphore of 5 permits, of which p has 2, and leaves that many available and taken.
type operation struct {
	name      string
	available string
	taken     int64
	do        func(ctx context.Context, s *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error
}

var operations = []operation{
	{"acquire", "0", 5, func(ctx context.Context, s *permitsemaphore.Semaphore, _ *permitsemaphore.Permit) error {
		return second(s.Acquire(ctx, 3, permitsemaphore.WithoutExpiry()))
	}},
	{"try to acquire", "0", 5, func(ctx context.Context, s *permitsemaphore.Semaphore, _ *permitsemaphore.Permit) error {
		return second(s.TryAcquire(ctx, 3, permitsemaphore.WithoutExpiry()))
	}},
	{"try to acquire too many", "3", 2, func(ctx context.Context, s *permitsemaphore.Semaphore, _ *permitsemaphore.Permit) error {
		if _, err := s.TryAcquire(ctx, 4); !errors.Is(err, redlatch.ErrNotAcquired) {
			return errors.Join(errors.New("should be refused"), err)
		}
		return nil
	}},
	{"release a permit", "5", 0, func(ctx context.Context, _ *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error {
		return p.Release(ctx)
	}},
	{"release by id", "4", 1, func(ctx context.Context, s *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error {
		return s.Release(ctx, id(p))
	}},
	{"try to release by ids", "5", 0, func(ctx context.Context, s *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error {
		done, err := s.TryRelease(ctx, p.IDs()...)
		if err == nil && !done {
			err = errors.New("should be released")
		}
		return err
	}},
	{"update a lease", "3", 2, func(ctx context.Context, _ *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error {
		return p.UpdateLease(ctx, long)
	}},
	{"set", "8", 2, func(ctx context.Context, s *permitsemaphore.Semaphore, _ *permitsemaphore.Permit) error {
		return s.SetPermits(ctx, 10)
	}},
	{"add", "7", 2, func(ctx context.Context, s *permitsemaphore.Semaphore, _ *permitsemaphore.Permit) error {
		return second(s.AddPermits(ctx, 4))
	}},
	{"delete", "", 0, func(ctx context.Context, s *permitsemaphore.Semaphore, _ *permitsemaphore.Permit) error {
		return second(s.Delete(ctx))
	}},
}

func (o operation) prepare(t *testing.T, r *rig, opts ...redlatch.Option) (*permitsemaphore.Semaphore, *permitsemaphore.Permit) {
	t.Helper()
	s, _ := r.semaphore(t, 5, opts...)
	return s, acquire(t, s, 2, permitsemaphore.WithoutExpiry())
}

// faults that end by themselves: the operation is sent again.
var faults = []struct {
	name   string
	action faultproxy.Action
}{
	{"the reply is lost", faultproxy.DropReply},
	{"half of the reply is lost", faultproxy.HalfReply},
	{"the connection is reset after execution", faultproxy.ResetAfter},
	{"the connection is closed before execution", faultproxy.CloseBefore},
	{"the request is lost", faultproxy.DropRequest},
}

func TestEveryOperationTakesEffectOnceWhateverHappensToItsMessages(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		for _, o := range operations {
			for _, f := range faults {
				t.Run(o.name+"/"+f.name, func(t *testing.T) {
					t.Parallel()
					s, p := o.prepare(t, r)
					rule := r.proxy.On(onCall(s.Name()), 1, f.action)
					require.NoError(t, o.do(t.Context(), s, p))
					require.Equal(t, 1, rule.Hits(), "the fault has to have happened")
					requireState(t, r.direct, s.Name(), o.available, o.taken)
				})
			}
		}
	})
}

// A request that is held reaches the server after the client has sent it again and been answered: a ghost. By then the
// permits have been given back.
func TestAGhostOfAnOperationHasNoEffect(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		for _, o := range operations {
			t.Run(o.name, func(t *testing.T) {
				t.Parallel()
				var told events
				s, p := o.prepare(t, r, told.option())
				ghost := r.proxy.On(onCall(s.Name()), 1, faultproxy.Hold)
				require.NoError(t, o.do(t.Context(), s, p))
				requireState(t, r.direct, s.Name(), o.available, o.taken)
				if o.name == "try to acquire too many" {
					told.await(t, redlatch.EventSettled, 1)
				}
				zset := "{" + s.Name() + "}:timeout"
				require.NoError(t, r.direct.Del(t.Context(), zset).Err()) // as if all were released
				require.NoError(t, r.direct.Set(t.Context(), s.Name(), 5, 0).Err())
				ghost.Release()
				ghost.AwaitExecuted(t, 1)
				requireState(t, r.direct, s.Name(), "5", 0)
			})
		}
	})
}

// The refusal is known, but a copy of the attempt executes before it is barred, and finds enough. Nobody has the permits
// that it takes.
func TestWhatAGhostOfARefusedAcquisitionTakesComesBack(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		s, key := r.semaphore(t, 1)
		ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
		bar := r.proxy.On(onFence(key), 1, faultproxy.Hold)
		_, err := s.TryAcquire(t.Context(), 3, permitsemaphore.WithoutExpiry())
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		bar.AwaitHits(t, 1)
		require.NoError(t, r.direct.Set(t.Context(), key, 5, 0).Err())
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		requireState(t, r.direct, key, "2", 3)
		bar.Release()
		eventually(t, "the permits are back", func() bool { v, n := state(t, r.direct, key); return v == "5" && n == 0 })
	})
}

// The caller leaves while its acquisition is held, or its reply.
func TestAnAbandonedAcquisitionLeavesNothingBehind(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		for name, action := range map[string]faultproxy.Action{"held": faultproxy.Hold, "reply held": faultproxy.HoldReply, "reply lost": faultproxy.DropReply} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, key := r.semaphore(t, 5)
				rule := r.proxy.On(onCall(key), 1, action)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := acquiring(ctx, s, 2, permitsemaphore.WithoutExpiry())
				if name == "held" {
					rule.AwaitHits(t, 1)
				} else {
					rule.AwaitExecuted(t, 1)
				}
				cancel()
				err := (<-done).err
				require.ErrorIs(t, err, context.Canceled)
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "there was no answer")
				require.NotErrorIs(t, err, redlatch.ErrUnavailable)
				if name != "held" {
					rule.Release()
				} else {
					eventually(t, "it is barred", func() bool { return r.proxy.Executed("EVALSHA") > 0 && len(lanes(t, r, key)) > 0 })
					rule.Release()
					rule.AwaitExecuted(t, 1)
				}
				eventually(t, "nothing is taken", func() bool { v, n := state(t, r.direct, key); return v == "5" && n == 0 })
			})
		}
	})
}

func lanes(t testing.TB, r *rig, key string) []string {
	t.Helper()
	found, err := r.direct.Keys(context.Background(), "redlatch_lanes:{"+key+"}:*").Result()
	require.NoError(t, err)
	return found
}

func TestAReleaseThatIsNotConfirmedGoesOnInTheBackground(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		s, key := r.semaphore(t, 5, redlatch.WithReleaseTimeout(patience/2))
		p := acquire(t, s, 2, permitsemaphore.WithoutExpiry())
		r.proxy.Hole(true, true)
		err := p.Release(t.Context())
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrReleased)
		requireState(t, r.direct, key, "3", 2)
		r.proxy.Heal()
		eventually(t, "the permits are back", func() bool { v, n := state(t, r.direct, key); return v == "5" && n == 0 })
	})
}

// A shorter lease may be in force from the moment on at which it is sent. And when its outcome is unknown, what is left of
// it on the way must not undo the next one.
func TestAnUncertainLeaseIsTrustedNoLongerThanEitherOutcomeAllows(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		s, key := r.semaphore(t, 1)
		p := acquire(t, s, 1, permitsemaphore.WithoutExpiry())
		ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
		bar := r.proxy.On(onFence(key), 1, faultproxy.Hold)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- p.UpdateLease(ctx, 10*time.Minute) }()
		ghost.AwaitHits(t, 1)
		require.Less(t, time.Until(p.Until()), 10*time.Minute, "from before the send")
		cancel()
		require.ErrorIs(t, <-done, redlatch.ErrUncertain)
		require.Less(t, time.Until(p.Until()), 10*time.Minute)
		require.True(t, p.Valid())

		go func() { done <- p.UpdateLease(t.Context(), long) }()
		bar.AwaitHits(t, 1)
		bar.Release() // until then the next change waits
		require.NoError(t, <-done)
		require.Greater(t, time.Until(p.Until()), long-time.Minute)
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		left, err := s.LeaseTime(t.Context(), id(p))
		require.NoError(t, err)
		require.Greater(t, left, long-time.Minute, "the ghost made it shorter than it is trusted")
		require.NoError(t, p.Release(t.Context()))
	})
}

func TestALeaseThatIsUpdatedAfterThePermitIsLostSaysSo(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, long)
		s, key := r.semaphore(t, 1)
		p := acquire(t, s, 1, redlatch.WithLease(patience))
		update := r.proxy.On(onCall(key), 1, faultproxy.HoldReply)
		done := make(chan error, 1)
		go func() { done <- p.UpdateLease(context.Background(), long) }()
		require.ErrorIs(t, ended(t, p.Context(t.Context())), redlatch.ErrLost)
		update.Release()
		require.ErrorIs(t, <-done, redlatch.ErrLost)
		require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrLost)
		requireState(t, r.direct, key, "1", 0)
	})
}

func TestALeaseThatWasCertainlyNotUpdatedStaysTrusted(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s, client := fresh(t, srv, 1)
		p := acquire(t, s, 1, redlatch.WithLease(2*long))
		require.NoError(t, client.Set(t.Context(), s.Name(), "text", 0).Err()) // the script refuses that
		err := p.UpdateLease(t.Context(), long)
		require.ErrorContains(t, err, "not a number of permits")
		require.NotErrorIs(t, err, redlatch.ErrUncertain)
		require.Greater(t, time.Until(p.Until()), long+time.Minute)
	})
}

// Of an acquisition that succeeded by its second send, the first may still be on its way. It is barred before the caller
// has the permits, for it would take them again when they have been released.
func TestAnAcquisitionIsBarredBeforeItsPermitsCanBeReleased(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		s, key := r.semaphore(t, 5)
		ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
		bar := r.proxy.On(onFence(key), 0, faultproxy.Hold)
		done := make(chan error, 1)
		go func() {
			done <- s.Do(context.Background(), 2, func(context.Context) error { return nil }, permitsemaphore.WithoutExpiry())
		}()
		bar.AwaitHits(t, 1)
		select {
		case <-done:
			t.Error("the permits were handed out before the first send was barred")
		case <-time.After(2 * brief): // long enough for an acquisition that does not wait for the bar
		}
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		bar.Release()
		require.NoError(t, <-done)
		requireState(t, r.direct, key, "5", 0)
	})
}

// A renewal finds a permit gone whose release by id has not been answered yet. That is no loss of the others.
func TestARenewalDuringAReleaseByIdIsNoLoss(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		s, key := r.semaphore(t, 5, redlatch.WithWatchdogTimeout(3*time.Second))
		p := acquire(t, s, 3)
		ids := p.IDs()
		release := r.proxy.On(func(c faultproxy.Command) bool { return onCall(key)(c) && c.Args[1] == "4" }, 0, faultproxy.HoldReply)
		done := make(chan error, 1)
		go func() { done <- s.Release(context.Background(), ids[0]) }()
		release.AwaitExecuted(t, 1)
		begin := score(t, r.direct, key, ids[1])
		eventually(t, "three renewals", func() bool { return score(t, r.direct, key, ids[1]) > begin+2500 || !p.Valid() })
		require.True(t, p.Valid())
		release.Release()
		require.NoError(t, <-done)
		require.NoError(t, p.Release(t.Context()))
		requireState(t, r.direct, key, "5", 0)
	})
}
