package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

// patience of the faulty client: long enough for a test to step in before it is over, also on a busy machine, and twice
// the release timeout of those who are to leave while their send is under way. Where nobody steps in it is brief: one
// more send does no harm.
const (
	patience = time.Second
	brief    = 100 * time.Millisecond
)

// An operation changes a semaphore that starts with before ("" for none) and is left with after.
type operation struct {
	name          string
	before, after string
	reply         any
	do            func(ctx context.Context, s *semaphore.Semaphore) (any, error)
	carried       bool // in doubt it is carried through, rather than fenced
}

var operations = []operation{
	{name: "acquire", before: "5", after: "2", do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return nil, s.Acquire(ctx, 3)
	}},
	{name: "try to acquire", before: "5", after: "2", do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return nil, s.TryAcquire(ctx, 3)
	}},
	{name: "release", before: "5", after: "7", carried: true, do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return nil, s.Release(ctx, 2)
	}},
	{name: "release if exists", before: "5", after: "7", reply: true, carried: true, do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return s.ReleaseIfExists(ctx, 2)
	}},
	{name: "add", before: "5", after: "9", reply: int64(9), do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return s.AddPermits(ctx, 4)
	}},
	{name: "add a negative number", before: "5", after: "-1", reply: int64(-1), do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return s.AddPermits(ctx, -6)
	}},
	{name: "drain", before: "5", after: "0", reply: int64(5), do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return s.DrainPermits(ctx)
	}},
	{name: "set", after: "5", reply: true, do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return s.TrySetPermits(ctx, 5)
	}},
	{name: "delete", before: "5", reply: true, do: func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
		return s.Delete(ctx)
	}},
}

func (o operation) prepare(t *testing.T, r *rig, key string) {
	t.Helper()
	if o.before != "" {
		require.NoError(t, r.direct.Set(t.Context(), key, o.before, 0).Err())
	}
}

// faults that end by themselves: the operation is sent again.
var faults = []struct {
	name   string
	action faultproxy.Action
}{
	{"the reply is lost", faultproxy.DropReply},
	{"half of the reply is lost", faultproxy.HalfReply},
	{"the reply comes in pieces", faultproxy.SplitReply},
	{"the connection is closed after execution", faultproxy.CloseAfter},
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
					key := srv.Key(t, "s")
					o.prepare(t, r, key)
					rule := r.proxy.On(onCall(key), 1, f.action)
					reply, err := o.do(t.Context(), semaphore.New(r.faulty, key, briefly.Linger(0)))
					require.NoError(t, err)
					require.Equal(t, o.reply, reply)
					require.Equal(t, 1, rule.Hits(), "the fault has to have happened")
					require.Equal(t, o.after, value(t, r.direct, key))
				})
			}
		}
	})
}

// A request that is held reaches the server after the client has sent it again and been answered: a ghost.
func TestAGhostOfASuccessfulOperationHasNoEffect(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, brief)
		for _, o := range operations {
			t.Run(o.name, func(t *testing.T) {
				t.Parallel()
				key := srv.Key(t, "s")
				o.prepare(t, r, key)
				ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
				reply, err := o.do(t.Context(), semaphore.New(r.faulty, key, briefly.Linger(0)))
				require.NoError(t, err)
				require.Equal(t, o.reply, reply)
				require.Equal(t, o.after, value(t, r.direct, key))
				ghost.Release()
				ghost.AwaitExecuted(t, 1)
				require.Equal(t, o.after, value(t, r.direct, key))
			})
		}
	})
}

// The reply "no" is not remembered by the server, so a copy that is still on its way has to be barred.
func TestAGhostOfARefusedOperationHasNoEffectLater(t *testing.T) {
	refused := []struct {
		name                    string
		before, meantime, after string
		reply                   any
		settles                 bool // in the background, and else before the answer
		do                      func(ctx context.Context, s *semaphore.Semaphore) (any, error)
	}{
		{"try to acquire", "2", "5", "5", false, true, func(ctx context.Context, s *semaphore.Semaphore) (any, error) {
			if err := s.TryAcquire(ctx, 3); !errors.Is(err, redlatch.ErrNotAcquired) {
				return nil, fmt.Errorf("not refused: %w", err)
			}
			return false, nil
		}},
		{"release if exists", "", "5", "5", false, false, operations[3].do},
		{"set", "1", "", "", false, false, operations[7].do},
		{"delete", "", "5", "5", false, false, operations[8].do},
		{"drain", "", "5", "5", int64(0), false, func(ctx context.Context, s *semaphore.Semaphore) (any, error) { return s.DrainPermits(ctx) }},
	}
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		for _, o := range refused {
			t.Run(o.name, func(t *testing.T) {
				t.Parallel()
				var undone settled
				key := srv.Key(t, "s")
				operation{before: o.before}.prepare(t, r, key)
				ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
				reply, err := o.do(t.Context(), semaphore.New(r.faulty, key, briefly.Linger(0), undone.option()))
				require.NoError(t, err)
				require.Equal(t, o.reply, reply)
				if o.settles {
					undone.await(t, 1)
				}
				require.NoError(t, r.direct.Del(t.Context(), key).Err())
				operation{before: o.meantime}.prepare(t, r, key)
				ghost.Release()
				ghost.AwaitExecuted(t, 1)
				require.Equal(t, o.after, value(t, r.direct, key))
			})
		}
	})
}

// The copy is executed after the reply "no", when there is enough, and before anything could bar it: what it took is
// given back.
func TestWhatAGhostOfARefusedAcquisitionTakesIsGivenBack(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		var undone settled
		key := srv.Key(t, "s")
		set(t, r.direct, key, 2)
		ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
		r.proxy.On(onCall(key), 1, faultproxy.Delay(0)) // the second send, which is answered
		settling := r.proxy.On(onCall(key), 0, faultproxy.Hold)
		err := semaphore.New(r.faulty, key, briefly.Linger(0), undone.option()).TryAcquire(t.Context(), 3)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		set(t, r.direct, key, 5)
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		require.Equal(t, "2", value(t, r.direct, key))
		settling.Release()
		undone.await(t, 1)
		require.Equal(t, "5", value(t, r.direct, key))
	})
}

// Two sends are on their way when the caller leaves: the first is held, the second answers "no" after the caller has
// gone. That answer says nothing about the first.
func TestAnAnswerToTheLastSendDoesNotHideAnEarlierOne(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		var undone settled
		key := srv.Key(t, "s")
		set(t, r.direct, key, 2)
		ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
		late := r.proxy.On(onCall(key), 1, faultproxy.HoldReply)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		result := make(chan error, 1)
		go func() {
			result <- semaphore.New(r.faulty, key, briefly.Linger(0), undone.option()).TryAcquire(ctx, 3)
		}()
		late.AwaitExecuted(t, 1)
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		late.Release()
		undone.await(t, 1)
		set(t, r.direct, key, 5)
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		require.Equal(t, "5", value(t, r.direct, key))
	})
}

// The caller leaves while its command is held. What is settled by then, the ghost cannot undo.
func TestAfterTheCallerGaveUpAGhostChangesNothing(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		for _, o := range operations {
			t.Run(o.name, func(t *testing.T) {
				t.Parallel()
				var done settled
				key := srv.Key(t, "s")
				o.prepare(t, r, key)
				ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
				s := semaphore.New(r.another(t, patience), key, briefly.Linger(0), redlatch.WithReleaseTimeout(patience/2), done.option())
				giveUp(t, o, s, ghost)
				done.await(t, 1)
				want := o.before
				if o.carried {
					want = o.after
				}
				require.Equal(t, want, value(t, r.direct, key))
				ghost.Release()
				ghost.AwaitExecuted(t, 1)
				require.Equal(t, want, value(t, r.direct, key))
			})
		}
	})
}

// The same for a release that finds nothing to do: it is not remembered, and has to be barred.
func TestAfterTheCallerGaveUpAGhostOfARefusedReleaseChangesNothing(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		var done settled
		key := srv.Key(t, "s")
		ghost := r.proxy.On(onCall(key), 1, faultproxy.Hold)
		s := semaphore.New(r.faulty, key, briefly.Linger(0), redlatch.WithReleaseTimeout(patience/2), done.option())
		giveUp(t, operations[3], s, ghost)
		done.await(t, 1)
		set(t, r.direct, key, 5)
		ghost.Release()
		ghost.AwaitExecuted(t, 1)
		require.Equal(t, "5", value(t, r.direct, key))
	})
}

// The caller leaves after its command was executed, and never sees the reply. An acquisition is given back then;
// everything else has happened.
func TestAfterTheCallerGaveUpOnAReplyTheStateIsOneOrTheOther(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		for _, o := range operations {
			for _, f := range []faultproxy.Action{faultproxy.DropReply, faultproxy.HoldReply} {
				t.Run(fmt.Sprint(o.name, "/", f == faultproxy.DropReply), func(t *testing.T) {
					t.Parallel()
					var done settled
					key := srv.Key(t, "s")
					o.prepare(t, r, key)
					rule := r.proxy.On(onCall(key), 1, f)
					s := semaphore.New(r.another(t, patience), key, briefly.Linger(0), redlatch.WithReleaseTimeout(patience/2), done.option())
					giveUp(t, o, s, rule)
					want := o.after
					if o.name == "acquire" || o.name == "try to acquire" {
						want = o.before
					}
					rule.AwaitExecuted(t, 1) // the state before may be the one that is waited for
					rule.Release()
					eventually(t, "the state is "+want, func() bool { return value(t, r.direct, key) == want })
					if f == faultproxy.DropReply {
						done.await(t, 1)
					}
					require.Equal(t, want, value(t, r.direct, key))
				})
			}
		}
	})
}

// giveUp calls o and leaves when the rule has caught its command.
func giveUp(t *testing.T, o operation, s *semaphore.Semaphore, rule *faultproxy.Rule) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := o.do(ctx, s)
		result <- err
	}()
	rule.AwaitHits(t, 1)
	cancel()
	err := <-result
	switch {
	case o.name == "acquire", o.name == "try to acquire":
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "there was no answer")
		require.NotErrorIs(t, err, redlatch.ErrUnavailable)
	case o.carried:
		require.ErrorIs(t, err, redlatch.ErrUncertain)
	default:
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		require.ErrorIs(t, err, context.Canceled)
	}
}
