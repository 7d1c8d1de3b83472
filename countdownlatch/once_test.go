package countdownlatch_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// patience of the faulty client: long enough for a test to step in before it is over, also on a busy machine, and twice
// the release timeout of those who are to leave while their send is under way. Where nobody steps in it is brief: one
// more send does no harm.
const (
	patience = time.Second
	brief    = 100 * time.Millisecond
)

// An operation changes a latch that starts with before ("" for none) and is left with after.
type operation struct {
	name          string
	before, after string
	reply         any
	do            func(ctx context.Context, l *countdownlatch.Latch) (any, error)
	carried       bool // in doubt it is carried through, rather than fenced
}

func countDown(ctx context.Context, l *countdownlatch.Latch) (any, error) {
	return nil, l.CountDown(ctx)
}
func trySet(ctx context.Context, l *countdownlatch.Latch) (any, error) { return l.TrySetCount(ctx, 5) }
func remove(ctx context.Context, l *countdownlatch.Latch) (any, error) { return l.Delete(ctx) }

var operations = []operation{
	{name: "count down", before: "3", after: "2", do: countDown, carried: true},
	{name: "count down to zero", before: "1", after: "", do: countDown, carried: true},
	{name: "set", before: "", after: "5", reply: true, do: trySet},
	{name: "delete", before: "3", after: "", reply: true, do: remove},
}

func TestEveryOperationTakesEffectOnceWhateverHappensToItsMessages(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		for _, o := range operations {
			for name, fault := range map[string]faultproxy.Action{
				"the reply is lost":                         faultproxy.DropReply,
				"half of the reply is lost":                 faultproxy.HalfReply,
				"the connection is closed after execution":  faultproxy.CloseAfter,
				"the connection is reset after execution":   faultproxy.ResetAfter,
				"the connection is closed before execution": faultproxy.CloseBefore,
				"the request is lost":                       faultproxy.DropRequest,
			} {
				t.Run(o.name+"/"+name, func(t *testing.T) {
					t.Parallel()
					key := srv.Key(t, "l")
					set(t, r.direct, key, o.before)
					rule := r.proxy.On(onCall(key), 1, fault)
					reply, err := o.do(t.Context(), countdownlatch.New(r.faulty, key, briefly.Linger(0)))
					require.NoError(t, err)
					require.Equal(t, o.reply, reply)
					require.Equal(t, 1, rule.Hits(), "the fault has to have happened")
					require.Equal(t, o.after, value(t, r.direct, key))
				})
			}
		}
	})
}

// A request that is held reaches the server after it was sent again and answered. Meanwhile the latch has gone on, or
// its next life has begun, and the ghost must not count for it.
func TestAGhostHasNoEffect(t *testing.T) {
	ghosts := []struct {
		name                    string
		before, after, meantime string
		do                      func(ctx context.Context, l *countdownlatch.Latch) (any, error)
	}{
		{"of a count-down", "3", "2", "2", countDown},
		{"of the last count-down", "1", "", "3", countDown},
		{"of a count-down of an open latch", "", "", "3", countDown},
		{"of a count that was set", "", "5", "", trySet},
		{"of a count that was not set", "3", "3", "", trySet},
		{"of a deletion", "3", "", "3", remove},
		{"of a deletion of nothing", "", "", "3", remove},
	}
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		for _, g := range ghosts {
			t.Run(g.name, func(t *testing.T) {
				t.Parallel()
				key := srv.Key(t, "l")
				set(t, r.direct, key, g.before)
				ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
				_, err := g.do(t.Context(), countdownlatch.New(r.faulty, key, briefly.Linger(0)))
				require.NoError(t, err)
				require.Equal(t, g.after, value(t, r.direct, key))
				set(t, r.direct, key, g.meantime)
				ghost.Release()
				ghost.AwaitExecuted(t, 1)
				require.Equal(t, g.meantime, value(t, r.direct, key))
			})
		}
	})
}

// The caller leaves while its command is held. What is settled by then, the ghost cannot undo.
func TestAfterTheCallerGaveUpAGhostChangesNothing(t *testing.T) {
	given := append([]operation{{name: "count down an open latch", do: countDown, carried: true}}, operations...)
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		for _, o := range given {
			t.Run(o.name, func(t *testing.T) {
				t.Parallel()
				var done settled
				key := srv.Key(t, "l")
				set(t, r.direct, key, o.before)
				ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
				l := countdownlatch.New(r.another(t, patience), key, briefly.Linger(0), redlatch.WithReleaseTimeout(patience/2), done.option())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan error, 1)
				go func() {
					_, err := o.do(ctx, l)
					result <- err
				}()
				ghost.AwaitHits(t, 1)
				cancel()
				require.ErrorIs(t, <-result, redlatch.ErrUncertain)
				done.await(t)
				want := o.before
				if o.carried {
					want = o.after
				}
				require.Equal(t, want, value(t, r.direct, key))
				set(t, r.direct, key, "7")
				if o.name == "set" {
					set(t, r.direct, key, "")
				}
				next := value(t, r.direct, key)
				ghost.Release()
				ghost.AwaitExecuted(t, 1)
				require.Equal(t, next, value(t, r.direct, key))
			})
		}
	})
}

// k count-downs from k under faults open the latch after the last, and not before.
func TestUnderFaultsTheLatchOpensAfterExactlyAsManyCountDownsAsItWasSetTo(t *testing.T) {
	const (
		cycles  = 5
		workers = 10
	)
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, 100*time.Millisecond)
		key := srv.Key(t, "l")
		mine, n := onCall(key), 0
		for i, fault := range []faultproxy.Action{
			faultproxy.DropReply, faultproxy.CloseAfter, faultproxy.ResetAfter, faultproxy.CloseBefore,
			faultproxy.DropRequest, faultproxy.Delay(250 * time.Millisecond),
		} {
			// Every 13th command meets one fault after another; the matches are called one after another too.
			r.proxy.On(func(c faultproxy.Command) bool {
				if !mine(c) {
					return false
				}
				if i == 0 {
					n++
				}
				return n%13 == 2*i
			}, 0, fault)
		}
		l := countdownlatch.New(r.faulty, key, briefly.Linger(0), redlatch.WithPoll(100*time.Millisecond),
			redlatch.WithReleaseTimeout(time.Minute)) // to meet one fault after another takes seconds on a busy machine
		for range cycles {
			done, err := l.TrySetCount(t.Context(), workers)
			require.NoError(t, err)
			require.True(t, done)
			opened := make(chan error, 1)
			go func() { opened <- l.Await(t.Context()) }()
			var work sync.WaitGroup
			for range workers - 1 {
				work.Go(func() {
					if err := l.CountDown(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			work.Wait()
			require.Equal(t, "1", value(t, r.direct, key))
			select {
			case err := <-opened:
				t.Fatalf("open before the last count-down: %v", err)
			default:
			}
			require.NoError(t, l.CountDown(t.Context()))
			require.NoError(t, <-opened)
			require.Equal(t, "", value(t, r.direct, key))
		}
		r.proxy.Close()
		require.Equal(t, "", value(t, r.direct, key))
	})
}
