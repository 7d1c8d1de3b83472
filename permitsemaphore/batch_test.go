package permitsemaphore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// inLine returns when that many of the client's process wait in line.
func inLine(t testing.TB, client *redis.Client, key string, n int) {
	t.Helper()
	set := settings.Defaults()
	waiters := func() int {
		return session.Of(client, &set).Waiters(cohort.KeyFor(key, "permit_semaphore"))
	}
	eventually(t, fmt.Sprint(n, " wait"), func() bool { return waiters() == n })
}

// queue has calls of Acquire wait for a permit each, in their order. Each attempt has been executed when it returns.
func queue(t testing.TB, srv *redistest.Server, ctxs []context.Context, s *permitsemaphore.Semaphore, client *redis.Client, leases ...redlatch.Option) (all []<-chan result) {
	t.Helper()
	for i, lease := range leases {
		ctx := t.Context()
		if i < len(ctxs) {
			ctx = ctxs[i]
		}
		all = append(all, acquiring(ctx, s, 1, lease))
		inLine(t, client, s.Name(), i+1)
		if i == 0 {
			direct := srv.Client(t)
			eventually(t, "it has asked once more when it was subscribed", func() bool { // which may take two sends
				return direct.ZCard(t.Context(), keys.SemaphoreRow(s.Name())).Val() == 1
			})
		}
	}
	return all
}

// raise makes permits and tells everybody, which is no script of ours.
func raise(t testing.TB, client *redis.Client, key string, n int64) {
	t.Helper()
	require.NoError(t, client.IncrBy(t.Context(), key, n).Err())
	require.NoError(t, client.Publish(t.Context(), "redisson_sc:{"+key+"}", n).Err())
}

// onBatch matches attempts for several: behind the ids of the first, and the place of the process in the row, there is more.
func onBatch(key string) func(faultproxy.Command) bool {
	return func(c faultproxy.Command) bool { return onCall(key)(c) && c.Args[1] == "4" && len(c.Args) > 17 }
}

func TestEachOfABatchGetsAPermitWithTheLeaseThatItAskedFor(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		warm(t, srv)
		s, client := fresh(t, srv, 0, redlatch.WithPoll(long))
		begin := time.Now()
		all := queue(t, srv, nil, s, client, redlatch.WithLease(time.Hour), permitsemaphore.WithoutExpiry(), redlatch.WithLease(2*time.Hour), nil)
		before := srv.CommandStats(t)["evalsha"]
		raise(t, client, s.Name(), 5)
		var permits []*permitsemaphore.Permit
		ids := map[string]bool{}
		for _, w := range all {
			p := receive(t, w)
			permits, ids[id(p)] = append(permits, p), true
		}
		require.EqualValues(t, 1, srv.CommandStats(t)["evalsha"]-before, "one attempt serves all")
		require.Len(t, ids, 4)
		requireState(t, client, s.Name(), "1", 4)
		for i, lease := range map[int]time.Duration{0: time.Hour, 2: 2 * time.Hour, 3: settings.DefaultWatchdogTimeout} {
			end := score(t, client, s.Name(), id(permits[i]))
			require.GreaterOrEqual(t, end, float64(begin.Add(lease).UnixMilli()), i)
			require.LessOrEqual(t, end, float64(time.Now().Add(lease).UnixMilli()+1), i)
			require.LessOrEqual(t, float64(permits[i].Until().UnixMilli()), end, "trusted for longer than the lease")
		}
		require.EqualValues(t, never, score(t, client, s.Name(), id(permits[1])))
		for _, p := range permits {
			require.True(t, p.Valid())
			require.NoError(t, p.Release(t.Context()))
		}
		requireState(t, client, s.Name(), "5", 0)
	})
}

func TestABatchWhoseAnswerIsLostServesEachOnce(t *testing.T) {
	for name, fault := range map[string]faultproxy.Action{
		"the reply is lost": faultproxy.DropReply, "half of it": faultproxy.HalfReply, "the request is lost": faultproxy.DropRequest,
		"cut before it is executed": faultproxy.CloseBefore, "cut after": faultproxy.CloseAfter, "reset after": faultproxy.ResetAfter,
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				r := newRig(t, srv, brief)
				s, key := r.semaphore(t, 0, redlatch.WithPoll(long))
				all := queue(t, srv, nil, s, r.faulty, permitsemaphore.WithoutExpiry(), permitsemaphore.WithoutExpiry(), permitsemaphore.WithoutExpiry())
				rule := r.proxy.On(onBatch(key), 1, fault)
				raise(t, r.direct, key, 4)
				for _, w := range all {
					defer func(p *permitsemaphore.Permit) { require.NoError(t, p.Release(t.Context())) }(receive(t, w))
				}
				require.EqualValues(t, 1, rule.Hits(), "there was no attempt for several")
				requireState(t, r.direct, key, "1", 3)
			})
		})
	}
}

// The answer comes when the lease of one is over already, be he the first of the batch or another.
func TestOneOfABatchWhoseLeaseIsOverBeforeTheAnswerHasNothingAndTheOthersHave(t *testing.T) {
	for short := range 3 {
		t.Run(fmt.Sprint(short), func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				r := newRig(t, srv, 20*time.Second)
				s, key := r.semaphore(t, 0, redlatch.WithPoll(long))
				leases := []redlatch.Option{permitsemaphore.WithoutExpiry(), permitsemaphore.WithoutExpiry(), permitsemaphore.WithoutExpiry()}
				leases[short] = redlatch.WithLease(20 * time.Millisecond)
				all := queue(t, srv, nil, s, r.faulty, leases...)
				rule := r.proxy.On(onBatch(key), 1, faultproxy.HoldReply)
				raise(t, r.direct, key, 3)
				eventually(t, "it is executed", func() bool { _, taken := state(t, r.direct, key); return taken == 3 })
				time.Sleep(30 * time.Millisecond) // the lease
				rule.Release()
				for i, w := range all {
					got := <-w
					if i == short {
						require.ErrorIs(t, got.err, redlatch.ErrUnavailable)
						require.ErrorContains(t, got.err, "longer than their lease")
						continue
					}
					require.NoError(t, got.err)
					require.True(t, got.permit.Valid())
				}
				eventually(t, "what is left is there", func() bool {
					available, taken := state(t, r.direct, key)
					return available == "1" && taken == 2
				})
			})
		})
	}
}

// One of the batch leaves while it is under way. If that is the first, the whole batch is undone, and the others ask anew.
func TestTheShareOfOneWhoLeavesABatchThatIsUnderWayComesBack(t *testing.T) {
	for who := range 3 {
		t.Run(fmt.Sprint(who), func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				r := newRig(t, srv, 20*time.Second)
				s, key := r.semaphore(t, 0, redlatch.WithPoll(long))
				ctxs := []context.Context{t.Context(), t.Context(), t.Context()}
				ctx, cancel := context.WithCancel(t.Context())
				ctxs[who] = ctx
				all := queue(t, srv, ctxs, s, r.faulty, permitsemaphore.WithoutExpiry(), permitsemaphore.WithoutExpiry(), permitsemaphore.WithoutExpiry())
				rule := r.proxy.On(onBatch(key), 1, faultproxy.HoldReply)
				raise(t, r.direct, key, 3)
				eventually(t, "it is executed", func() bool { _, taken := state(t, r.direct, key); return taken == 3 })
				cancel()
				require.ErrorIs(t, (<-all[who]).err, context.Canceled, "at once, although the answer is not there")
				rule.Release()
				for i, w := range all {
					if i != who {
						require.True(t, receive(t, w).Valid())
					}
				}
				eventually(t, "what is left is there", func() bool {
					available, taken := state(t, r.direct, key)
					return available == "1" && taken == 2
				})
			})
		})
	}
}

// The answer for three is lost, and when the attempt is sent again the lease of the second has run out and somebody else
// has his permit. So the answer is that one was served; the third has a permit of which nobody is told, which never ends.
func TestWhatALostAnswerHadServedIsNotKeptForThoseWhomTheNextDoesNotServe(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		s, key := r.semaphore(t, 0, redlatch.WithPoll(long))
		ctx, cancel := context.WithCancel(t.Context())
		all := queue(t, srv, []context.Context{ctx, ctx, ctx}, s, r.faulty,
			permitsemaphore.WithoutExpiry(), redlatch.WithLease(100*time.Millisecond), permitsemaphore.WithoutExpiry())
		rule := r.proxy.On(onBatch(key), 1, faultproxy.DropReply)
		raise(t, r.direct, key, 3)
		eventually(t, "it is executed", func() bool { _, taken := state(t, r.direct, key); return taken == 3 })
		other := permitsemaphore.New(r.direct, key, briefly.Linger(0))
		var thief *permitsemaphore.Permit
		eventually(t, "the second permit has expired", func() (is bool) {
			var err error
			thief, err = other.TryAcquire(t.Context(), 1, permitsemaphore.WithoutExpiry())
			return err == nil
		})
		receive(t, all[0]) // of the second answer, or of an attempt after it
		cancel()
		held := int64(2) // with the thief's
		for _, w := range all[1:] {
			if got := <-w; got.err == nil && got.permit.Valid() {
				held++
			}
		}
		eventually(t, "there is no permit that nobody has", func() bool {
			_, err := other.AvailablePermits(t.Context()) // puts back what has expired
			require.NoError(t, err)
			available, taken := state(t, r.direct, key)
			return available == fmt.Sprint(3-held) && taken == held
		})
		require.EqualValues(t, 1, rule.Hits())
		require.NoError(t, thief.Release(t.Context()))
	})
}
