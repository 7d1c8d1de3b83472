package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/dispatch"
)

// The server forgets what it remembers of a send that was executed, and takes the next one for another command. How soon
// depends on when the command was made, not on when it was executed.
func TestASendInDoubtIsNotRepeatedWhenItsMemoryIsOver(t *testing.T) {
	limit := delivery.Limit{Outage: time.Hour, Memory: 5 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: notYet, took: 3 * time.Second}, step{err: unknown}, step{err: notYet})
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		f := failure(t, err)
		require.ErrorIs(t, f, notYet)
		require.True(t, f.Doubt)
		require.Equal(t, p.sends[1], f.Sent)
		last := p.sends[len(p.sends)-1].Sub(p.sends[0])
		require.LessOrEqual(t, last, limit.Memory)
		require.Greater(t, last, limit.Memory-750*time.Millisecond, "one pause short at most")
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: notYet, took: 6 * time.Second}, step{value: 7})
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		require.NoError(t, err, "what was certainly not executed left nothing to remember")
	})
}

// The server goes on forgetting while this system stands still.
func TestTheMemoryOfTheServerEndsDuringASuspensionToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var suspended atomic.Int64
		defer clock.Fake(func() time.Duration { return time.Duration(suspended.Load()) })()
		limit := delivery.Limit{Outage: time.Hour, Memory: time.Minute}
		p := newPlay(step{err: unknown}, step{err: notYet}, step{value: 7})
		time.AfterFunc(30*time.Millisecond, func() { suspended.Store(int64(time.Hour)) })
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
		require.True(t, failure(t, err).Doubt)
		require.Len(t, p.sends, 2)
	})
}

func TestAScriptThatIsNotIdempotentIsNotRepeatedAfterASendInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: notYet}, step{err: unknown}, step{value: 7})
		_, _, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), delivery.Limit{Outage: outage, Once: true})
		f := failure(t, err)
		require.ErrorIs(t, f, unknown)
		require.True(t, f.Doubt)
		require.Len(t, p.sends, 2)
	})
}

func TestAReceiptTellsOfARefusalWhateverCameAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: hopeless}, step{err: unknown}, step{value: 7})
		_, receipt, err := delivery.Deliver(t.Context(), p.dispatcher(), echo(), delivery.Limit{Outage: outage, Stubborn: true})
		require.NoError(t, err)
		require.Equal(t, hopeless, receipt.Refused)
	})
}

func TestTheTotalLimitIsCountedFromTheFirstSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPlay(step{err: noScript, took: time.Second}, step{err: notYet}), time.Now()
		_, _, err := delivery.Deliver(context.Background(), p.dispatcher(), echo(), delivery.Limit{Outage: time.Hour, Total: 5 * time.Second})
		require.ErrorIs(t, failure(t, err), context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(begin))
		require.Greater(t, len(p.sends), 5)
	})
}

func TestWithinGoesOnAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{err: notYet}, step{err: notYet}, step{value: 7})
		reply, _, err := delivery.Within(t.Context(), p.dispatcher(), echo(), delivery.Limit{Outage: outage, Total: 5 * time.Second})
		require.NoError(t, err)
		require.EqualValues(t, 7, reply)
	})
}

// A cluster client looks for the successor only when it is told to, and subscriptions do not find out by themselves.
func TestWhatMayMeanThatThePrimaryHasChangedIsTold(t *testing.T) {
	for name, err := range map[string]error{"moved": moved, "not yet": notYet, "unknown": unknown} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, told := newPlay(step{err: err}, step{value: 7}), 0
				d := p.dispatcher()
				d.OnTrouble = func() { told++ }
				_, _, fault := delivery.Deliver(t.Context(), d, echo(), limit)
				require.NoError(t, fault)
				require.Equal(t, 1, told)
				if p.sends = nil; err == unknown {
					return
				}
				_, _, _, _, fault = delivery.Synced(t.Context(), d, echo(), 2, time.Second, limit)
				require.NoError(t, fault)
				require.Equal(t, 2, told)
			})
		})
	}
}

// A lostCluster cannot tell any more where its master is, and while it tries the caller leaves.
type lostCluster struct {
	master *redis.Client
	asked  *int
	leave  func()
}

func (c lostCluster) MasterForKey(context.Context, string) (*redis.Client, error) {
	if *c.asked++; *c.asked == 1 {
		return c.master, nil
	}
	c.leave()
	return nil, notYet
}
func (lostCluster) ReloadState(context.Context) {}

func TestACallerWhoLeavesWhileItsServerCannotBeFoundIsToldOfItsOwnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		master := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, Dialer: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}})
		defer master.Close()
		ctx, cancel := context.WithCancel(t.Context())
		d := dispatch.New(newPlay(), lostCluster{master, new(int), cancel}, func() time.Duration { return 0 })
		_, _, err := delivery.Deliver(ctx, d, echo(), limit)
		require.ErrorIs(t, failure(t, err), context.Canceled)
		require.False(t, failure(t, err).Doubt)
	})
}

func TestAnOutageIsTheServersAndNotTheCallersEnd(t *testing.T) {
	f := &delivery.Failure{Err: unknown}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, delivery.Outage(t.Context(), fmt.Errorf("locking: %w", f)))
	require.False(t, delivery.Outage(over, f))
	require.False(t, delivery.Outage(t.Context(), unknown))
}
