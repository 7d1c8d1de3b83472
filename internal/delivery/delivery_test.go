package delivery_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/dispatch"
)

const (
	rtt    = 10 * time.Millisecond
	outage = 10 * time.Second
)

var limit = delivery.Limit{Outage: outage}

func TestASuccessIsSentOnceAndTrustedFromBeforeTheSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{value: 7, took: rtt}), time.Now()
		reply, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		require.NoError(t, err)
		require.EqualValues(t, 7, reply)
		require.Equal(t, delivery.Receipt{Sent: begin}, receipt)
		require.Equal(t, []string{"evalsha"}, p.names)
		require.Equal(t, rtt, time.Since(begin))
	})
}

func TestAnUnknownScriptIsSentAtOnceWithItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{err: noScript, took: rtt}, step{value: 7, took: rtt}), time.Now()
		_, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		require.NoError(t, err)
		require.Equal(t, []string{"evalsha", "eval"}, p.names)
		require.Equal(t, delivery.Receipt{Sent: begin.Add(rtt)}, receipt)
		require.Equal(t, 2*rtt, time.Since(begin))
	})
}

func TestAServerThatKnowsNoScriptEvenWithItsSourceIsNotAskedInALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p, begin := newPlay(step{err: noScript, took: time.Millisecond}), time.Now()
		_, _, err := delivery.Deliver(ctx, p.dispatcher(), echo(), limit)
		require.ErrorIs(t, failure(t, err), noScript)
		require.Less(t, len(p.sends), 100)
		require.LessOrEqual(t, time.Since(begin), outage)
	})
}

func TestWhatWasNotExecutedIsResentWithPausesThatGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: notYet}, step{err: notYet}, step{err: notYet}, step{err: notYet}, step{value: 7, took: rtt})
		_, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		require.NoError(t, err)
		require.Equal(t, delivery.Receipt{Sent: p.sends[4]}, receipt, "only the last send was executed")
		for i, middle := range []time.Duration{20e6, 30e6, 45e6, 67.5e6} {
			pause := p.sends[i+1].Sub(p.sends[i])
			require.InDelta(t, middle, pause, float64(middle/2)+1, "pause %d", i)
		}
	})
}

func TestAnOutageIsEnduredAsLongAsItsLimit(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		doubt bool
	}{"not executed": {notYet, false}, "unknown": {unknown, true}, "moved": {moved, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, begin := newPlay(step{err: test.err}), time.Now()
				_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
				f := failure(t, err)
				require.ErrorIs(t, f, test.err)
				require.Equal(t, test.doubt, f.Doubt)
				require.LessOrEqual(t, time.Since(begin), outage)
				require.Greater(t, time.Since(begin), outage-750*time.Millisecond, "one pause short of the limit at most")
				require.InDelta(t, 25, len(p.sends), 10)
			})
		})
	}
}

func TestASendOfUnknownOutcomeIsResentAndLeavesDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: notYet}, step{err: unknown, took: time.Second}, step{err: notYet}, step{value: 7})
		reply, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		require.NoError(t, err)
		require.EqualValues(t, 7, reply)
		require.Equal(t, delivery.Receipt{Sent: p.sends[1], Doubt: true}, receipt, "the first that may have been executed")
	})
}

func TestARedirectionIsFollowedByTheClusterClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{value: 7})
		d := dispatch.New(p, cluster{p}, func() time.Duration { return 0 })
		reply, _, err := delivery.Deliver(t.Context(), d, echo(), limit)
		require.NoError(t, err)
		require.EqualValues(t, 7, reply)
		require.Equal(t, []string{"client"}, p.route)
		require.Equal(t, 1, p.loads)
	})
}

func TestWhatIsHopelessIsReturnedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{err: hopeless}), time.Now()
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		f := failure(t, err)
		require.Equal(t, hopeless, f.Err)
		require.False(t, f.Doubt)
		require.Zero(t, time.Since(begin))
		require.Len(t, p.sends, 1)
	})
}

func TestAStubbornDeliveryGoesOnAfterHopelessErrorsButNotOnAClosedClient(t *testing.T) {
	stubborn := delivery.Limit{Outage: outage, Stubborn: true}
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: hopeless}, step{err: hopeless}, step{value: 7})
		_, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), stubborn)
		require.NoError(t, err)
		require.False(t, receipt.Doubt)
	})
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{err: hopeless}), time.Now()
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), stubborn)
		require.ErrorIs(t, failure(t, err), hopeless)
		require.InDelta(t, outage, time.Since(begin), float64(750*time.Millisecond))
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: redis.ErrClosed})
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), stubborn)
		require.ErrorIs(t, failure(t, err), redis.ErrClosed)
		require.Len(t, p.sends, 1)
	})
}

func TestAnEndedContextSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p := newPlay(step{value: 7})
		_, _, err := delivery.Deliver(ctx, p.dispatcher(), echo(), limit)
		f := failure(t, err)
		require.Equal(t, context.Canceled, errors.Unwrap(f.Err))
		require.False(t, f.Doubt)
		require.Empty(t, p.sends)
	})
}

func TestAContextThatEndsInAPauseEndsItAndNamesTheLastError(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		doubt bool
	}{"not executed": {notYet, false}, "unknown": {unknown, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				p, begin := newPlay(step{err: test.err}), time.Now()
				_, _, err := delivery.Deliver(ctx, p.dispatcher(), echo(), limit)
				f := failure(t, err)
				require.Equal(t, 3*time.Second, time.Since(begin))
				require.ErrorIs(t, f, context.DeadlineExceeded)
				require.ErrorIs(t, f, test.err, "busy and broken are to be told apart")
				require.Equal(t, test.doubt, f.Doubt)
			})
		})
	}
}

func TestAContextThatEndsInFlightLeavesAnOutcomeThatCanBeHadLater(t *testing.T) {
	for name, test := range map[string]struct {
		steps []step
		reply int64
		known bool
	}{
		"executed":                         {[]step{{value: 7, took: time.Second}}, 7, true},
		"executed after what was not":      {[]step{{err: notYet}, {value: 7, took: time.Second}}, 7, true},
		"certainly not executed":           {[]step{{err: notYet, took: time.Second}}, 0, true},
		"unknown":                          {[]step{{err: unknown, took: time.Second}}, 0, false},
		"executed, an earlier one unknown": {[]step{{err: unknown}, {value: 7, took: time.Second}}, 0, false},
		"executed, the reply unreadable":   {[]step{{value: -1, took: time.Second}}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				p, begin := newPlay(test.steps...), time.Now()
				_, _, err := delivery.Deliver(ctx, p.dispatcher(), echo(), limit)
				f := failure(t, err)
				require.Equal(t, 500*time.Millisecond, time.Since(begin), "at once, whatever the server does")
				require.ErrorIs(t, f, context.DeadlineExceeded)
				require.True(t, f.Doubt)
				reply, known := delivery.Result(f, echo())
				require.Equal(t, test.known, known)
				require.Equal(t, test.reply, reply)
			})
		})
	}
}

func TestThereIsNoResultWithoutASendInFlight(t *testing.T) {
	_, known := delivery.Result(&delivery.Failure{Err: unknown, Doubt: true}, echo())
	require.False(t, known)
}

func TestAnExecutedScriptWhoseReplyIsNotUnderstoodLeavesDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{value: -1})
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		f := failure(t, err)
		require.ErrorContains(t, f, "answered nonsense")
		require.True(t, f.Doubt, "it was executed: what it took has to be given back")
		_, _, _, _, err = delivery.Synced(t.Context(), p.dispatcher(), echo(), 1, time.Second, limit)
		require.True(t, failure(t, err).Doubt)
	})
}

// A hook of the client may limit commands by itself and return a context error after the command has left. It says
// nothing about the caller's own context, which may have ended as well.
func TestAContextErrorOfTheClientsOwnDoesNotPassForNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := newPlay(step{err: context.DeadlineExceeded, took: time.Second, do: cancel})
		_, _, err := delivery.Deliver(ctx, p.dispatcher(), echo(), limit)
		require.True(t, failure(t, err).Doubt)
	})
}

func TestTheTotalLimitBoundsASendThatHangsAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{err: notYet}, step{err: notYet}, step{value: 7, took: 10 * time.Second}), time.Now()
		_, _, err := delivery.Deliver(context.Background(), p.dispatcher(), echo(), delivery.Limit{Outage: outage, Total: 5 * time.Second})
		f := failure(t, err)
		require.Equal(t, 5*time.Second, time.Since(begin))
		require.True(t, f.Doubt)
		reply, known := delivery.Result(f, echo())
		require.True(t, known)
		require.EqualValues(t, 7, reply)
	})
}

func TestWithinSendsAlthoughTheContextHasEndedAndIsBoundedByItsLimit(t *testing.T) {
	bounded := delivery.Limit{Outage: 5 * time.Second, Total: 5 * time.Second, Stubborn: true}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		reply, _, err := delivery.Within(ctx, newPlay(step{value: 7}).dispatcher(), echo(), bounded)
		require.NoError(t, err)
		require.EqualValues(t, 7, reply)
	})
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, _, err := delivery.Within(context.Background(), newPlay(step{took: 10 * time.Second}).dispatcher(), echo(), bounded)
		f := failure(t, err)
		require.Equal(t, 5*time.Second, time.Since(begin))
		require.True(t, f.Doubt)
		delivery.Result(f, echo()) // the send ends by itself
	})
}

// Whoever is told of trouble builds the subscriptions anew, and then every waiter asks, by the connections that are short.
func TestALackOfConnectionsIsNoSignThatThePrimaryHasChanged(t *testing.T) {
	for _, short := range []error{redis.ErrPoolTimeout, reply("ERR max number of clients reached")} {
		synctest.Test(t, func(t *testing.T) {
			p, trouble := newPlay(step{err: short}, step{value: 7}), 0
			d := p.dispatcher()
			d.OnTrouble = func() { trouble++ }
			_, receipt, err := delivery.Deliver(t.Context(), d, echo(), limit)
			require.NoError(t, err)
			require.False(t, receipt.Doubt)
			p.sends = nil
			_, _, _, _, err = delivery.Synced(t.Context(), d, echo(), 2, time.Second, limit)
			require.NoError(t, err)
			require.Len(t, p.sends, 2)
			require.Zero(t, trouble)
		})
	}
}

// A gone server has just answered, and has closed its connections. New ones are dialled in vain for a long time.
type gone struct {
	*play
	down bool
}

func (g *gone) Options() *redis.Options { return &redis.Options{ReadTimeout: time.Second} }

func (g *gone) Process(ctx context.Context, cmd redis.Cmder) error {
	if !g.down {
		return g.play.Process(ctx, cmd)
	}
	select {
	case <-time.After(time.Minute):
		cmd.SetErr(unknown)
	case <-ctx.Done():
		cmd.SetErr(ctx.Err())
	}
	return cmd.Err()
}

func (g *gone) Pipeline() redis.Pipeliner { return &lost{} }

type lost struct {
	redis.Pipeliner
	cmds []redis.Cmder
}

func (l *lost) Process(_ context.Context, cmd redis.Cmder) error {
	l.cmds = append(l.cmds, cmd)
	return nil
}

func (l *lost) Exec(context.Context) ([]redis.Cmder, error) {
	time.Sleep(time.Minute)
	for _, cmd := range l.cmds {
		cmd.SetErr(unknown)
	}
	return l.cmds, unknown
}

func TestWithinDoesNotWaitForAConnectionLongerThanItsLimit(t *testing.T) {
	bounded := delivery.Limit{Outage: 5 * time.Second, Total: 5 * time.Second, Stubborn: true}
	synctest.Test(t, func(t *testing.T) {
		client := &gone{play: newPlay(step{value: 7})}
		d := dispatch.New(client, nil, func() time.Duration { return 0 })
		_, _, err := delivery.Within(t.Context(), d, echo(), bounded)
		require.NoError(t, err)
		client.down = true
		begin := time.Now()
		var wg sync.WaitGroup
		for range 40 { // more than leave at once: the others stand in the queue behind them
			wg.Go(func() {
				_, _, err := delivery.Within(t.Context(), d, echo(), bounded)
				f := failure(t, err)
				require.ErrorIs(t, f, context.DeadlineExceeded)
				require.LessOrEqual(t, time.Since(begin), 5*time.Second)
				require.GreaterOrEqual(t, time.Since(begin), 4*time.Second)
			})
		}
		wg.Wait()
		time.Sleep(2 * time.Minute) // what has left ends by itself
	})
}

func TestAsFailureFindsTheFailure(t *testing.T) {
	f := &delivery.Failure{Err: unknown, Doubt: true}
	require.Same(t, f, delivery.AsFailure(errors.Join(errors.New("x"), f)))
	require.Equal(t, &delivery.Failure{Err: unknown}, delivery.AsFailure(unknown))
}

func TestSyncedIsResentOnlyWhenItWasNotExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: notYet}, step{err: moved}, step{value: 7})
		reply, sent, acknowledged, unheard, err := delivery.Synced(t.Context(), p.dispatcher(), echo(), 2, time.Second, limit)
		require.NoError(t, err)
		require.NoError(t, unheard)
		require.EqualValues(t, 7, reply)
		require.EqualValues(t, 2, acknowledged)
		require.Equal(t, p.sends[2], sent)
		require.Equal(t, []string{"eval", "eval", "eval"}, p.names, "with its source: a WAIT behind an unknown script would lie")
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: unknown})
		_, _, _, _, err := delivery.Synced(t.Context(), p.dispatcher(), echo(), 2, time.Second, limit)
		require.True(t, failure(t, err).Doubt)
		require.Len(t, p.sends, 1, "a second execution would write nothing for WAIT to count")
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: hopeless})
		_, _, _, _, err := delivery.Synced(t.Context(), p.dispatcher(), echo(), 2, time.Second, limit)
		require.False(t, failure(t, err).Doubt)
		require.Len(t, p.sends, 1)
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p, begin := newPlay(step{value: 7, took: 2 * time.Second}), time.Now()
		_, _, _, _, err := delivery.Synced(ctx, p.dispatcher(), echo(), 2, time.Second, limit)
		require.Equal(t, time.Second, time.Since(begin))
		f := failure(t, err)
		require.True(t, f.Doubt)
		reply, known := delivery.Result(f, echo())
		require.True(t, known)
		require.EqualValues(t, 7, reply)
	})
}
