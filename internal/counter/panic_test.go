package counter_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
)

// A thrower is a hook of a client that panics once, before a command is executed or after it.
type thrower struct{ before, after atomic.Bool }

func (*thrower) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *thrower) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.before.CompareAndSwap(true, false) {
			panic("a hook of the client")
		}
		err := next(ctx, cmd)
		if h.after.CompareAndSwap(true, false) {
			panic("a hook of the client")
		}
		return err
	}
}

func (*thrower) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// An explosive client panics once when it is asked which family of channels its cluster has.
type explosive struct {
	*redis.Client
	asked atomic.Bool
}

func (e *explosive) Process(ctx context.Context, cmd redis.Cmder) error {
	if cmd.Name() == "pubsub" && !e.asked.Swap(true) {
		panic("a hook of the client")
	}
	return e.Client.Process(ctx, cmd)
}

// The question comes before the operation has a lane.
func TestAnOperationBeforeWhichAHookPanicsIsCarriedThroughIfItIsOwed(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		do   func(l *lab, over func())
		want string
	}{
		"release": {func(l *lab, over func()) {
			defer over()
			_, _ = l.giveBack(2)
		}, "7"},
		"release, unless the process may keep them": {func(l *lab, over func()) {
			defer over()
			key := l.counter.Key
			_, _ = l.counter.Keep(ctx, 2, func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
				return semaphore.Keep(key, 2, "me", wake, call)
			}, func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
				return semaphore.Yield(key, 2, wake, call)
			})
		}, "7"},
		"change": {func(l *lab, over func()) {
			_, _ = counter.ChangeThen(ctx, l.counter, l.counter.Defaults(), func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
				return semaphore.Add(l.counter.Key, 2, wake, call)
			}, over)
		}, "5"},
	} {
		t.Run(name, func(t *testing.T) {
			inLab(t, func(l *lab) {
				client := &explosive{Client: l.counter.Session.Client.(*redis.Client)}
				require.NoError(t, redlatch.Configure(client, redlatch.WithCluster(), redlatch.WithLinger(0)))
				l.counter = counter.New(client, "c", "counter", keys.SemaphoreChannel, 0, nil).WithProcessQueue(keys.SemaphoreRow)
				over := make(chan struct{})
				require.Panics(t, func() { c.do(l, func() { close(over) }) })
				<-over
				time.Sleep(4 * time.Second)
				l.has(c.want)
				call := l.counter.Session.BorrowLane("c")
				require.Zero(t, call.Lane, "none is lent any more")
				l.counter.Session.ReturnLane("c", call)
			})
		})
	}
}

// A program may recover from it, and nobody knows what became of the operation.
func TestAnOperationDuringWhichAHookPanicsIsSettledAsOneInDoubt(t *testing.T) {
	ctx := context.Background() // else the command runs on a goroutine from which nobody recovers
	for name, run := range map[string]struct {
		do               func(l *lab, over func())
		missed, executed string
	}{
		"acquire": {func(l *lab, over func()) {
			defer over()
			_ = l.counter.Acquire(ctx, l.counter.Defaults(), 2, &seeker{l.counter.Key, 2}, true)
		}, "5", "5"},
		"change": {func(l *lab, over func()) {
			_, _ = counter.ChangeThen(ctx, l.counter, l.counter.Defaults(), func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
				return semaphore.Add(l.counter.Key, 2, wake, call)
			}, over)
		}, "5", "7"},
		"release": {func(l *lab, over func()) {
			defer over()
			_, _ = l.giveBack(2)
		}, "7", "7"},
	} {
		for _, executed := range []bool{false, true} {
			when, want := "before it is executed", run.missed
			if executed {
				when, want = "after it is executed", run.executed
			}
			t.Run(name+"/"+when, func(t *testing.T) {
				inLab(t, func(l *lab) {
					h := &thrower{}
					l.counter.Session.Client.(*redis.Client).AddHook(h)
					_, err := l.giveBack(0) // the script is known, and the server prompt
					require.NoError(t, err)
					_, err = l.add(0)
					require.NoError(t, err)
					err = l.counter.Acquire(ctx, l.counter.Defaults(), 100, &seeker{l.counter.Key, 100}, true)
					require.ErrorIs(t, err, redlatch.ErrNotAcquired)
					synctest.Wait() // no worker is left that could take the command along
					h.before.Store(!executed)
					h.after.Store(executed)
					over := make(chan struct{})
					require.Panics(t, func() { run.do(l, func() { close(over) }) })
					time.Sleep(4 * time.Second) // a pause and an attempt at most
					<-over
					l.has(want)
					require.NoError(t, l.settledOnce().Err)
					call := l.counter.Session.BorrowLane("c")
					require.Zero(t, call.Lane, "none is lent any more")
					l.counter.Session.ReturnLane("c", call)
				}, redlatch.WithReleaseTimeout(5*time.Second))
			})
		}
	}
}
