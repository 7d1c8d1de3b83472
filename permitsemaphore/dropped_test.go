package permitsemaphore_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// A collector is a hook of a client that runs the garbage collector while a command is under way, and may have it fail.
type collector struct {
	on     atomic.Bool
	refuse error
}

func (*collector) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *collector) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !c.on.CompareAndSwap(true, false) {
			return next(ctx, cmd)
		}
		collect()
		if c.refuse != nil {
			cmd.SetErr(c.refuse)
			return c.refuse
		}
		return next(ctx, cmd)
	}
}

func (*collector) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// collect returns when the cleanups of what was unreachable have run: those of later rounds have.
func collect() {
	for range 3 {
		var done atomic.Bool
		runtime.AddCleanup(new([64]byte), func(done *atomic.Bool) { done.Store(true) }, &done)
		for deadline := time.Now().Add(20 * time.Second); !done.Load() && time.Now().Before(deadline); runtime.GC() {
			runtime.Gosched()
		}
	}
}

// collected is a semaphore of 3 permits whose client collects garbage during the command after c is switched on.
func collected(t *testing.T, opts ...redlatch.Option) (*permitsemaphore.Semaphore, *collector, *events) {
	told, c := &events{}, &collector{}
	s, client := fresh(t, redistest.Mini(t), 3, append(opts, told.option(), redlatch.WithLogger(discard))...)
	require.NoError(t, s.Release(t.Context(), id(acquire(t, s, 1)))) // the server knows the scripts
	told.clear()
	client.AddHook(c)
	return s, c, told
}

// Nothing refers to the Permit any more when the command is on its way.
func TestAPermitWhoseReleaseByItsIDsIsItsLastUseIsNotReported(t *testing.T) {
	s, c, told := collected(t)
	for range 5 {
		before := told.count(redlatch.EventReleased)
		p := acquire(t, s, 2)
		c.on.Store(true)
		require.NoError(t, s.Release(t.Context(), p.IDs()...))
		require.False(t, c.on.Load())
		require.Equal(t, before+1, told.count(redlatch.EventReleased))
		require.Zero(t, told.count(redlatch.EventForgotten))
	}
	left, err := s.AvailablePermits(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, left)
}

// The garbage collector may come before the release has begun.
func TestAPermitThatIsDroppedRightBeforeItsReleaseByItsIDsIsNotReported(t *testing.T) {
	s, _, told := collected(t)
	s.Grace(long) // the garbage collector takes longer than a second on a busy machine
	ids := acquire(t, s, 2).IDs()
	collect()
	require.NoError(t, s.Release(t.Context(), ids...))
	require.Equal(t, 1, told.count(redlatch.EventReleased))
	require.Zero(t, told.count(redlatch.EventForgotten))
}

// Between the releases nobody knows that there will be another.
func TestAPermitThatIsDroppedWhileItsIDsAreReleasedOneAfterAnotherIsNotReported(t *testing.T) {
	s, c, told := collected(t)
	s.Grace(long)
	p := acquire(t, s, 3)
	for _, id := range p.IDs() {
		c.on.Store(true)
		require.NoError(t, s.Release(t.Context(), id))
		collect()
	}
	require.Equal(t, 1, told.count(redlatch.EventReleased))
	require.Zero(t, told.count(redlatch.EventForgotten))
}

// What is left of it is dropped as a whole one would be.
func TestAPermitThatIsDroppedDuringTheReleaseOfSomeOfItsIDsIsReportedThen(t *testing.T) {
	s, c, told := collected(t)
	p := acquire(t, s, 2)
	c.on.Store(true)
	require.NoError(t, s.Release(t.Context(), p.IDs()[0]))
	told.await(t, redlatch.EventForgotten, 1)
	require.Zero(t, told.count(redlatch.EventReleased))
}

// A refusal leaves the permits taken, and there is nothing left that could release them but their ids.
func TestAPermitThatIsDroppedDuringAReleaseThatFailsIsReportedThen(t *testing.T) {
	s, c, told := collected(t, redlatch.WithWatchdogTimeout(3*time.Second))
	c.refuse = redis.ErrClosed // certainly not executed, and not sent again
	p := acquire(t, s, 2)
	c.on.Store(true)
	ids := p.IDs()
	require.ErrorIs(t, s.Release(t.Context(), ids...), redis.ErrClosed)
	told.await(t, redlatch.EventForgotten, 1)
	eventually(t, "they come back with their lease", func() bool {
		left, err := s.AvailablePermits(t.Context())
		return err == nil && left == 3
	})
	require.Equal(t, 1, told.count(redlatch.EventForgotten))
}

// A lease of its own ends the renewal, so whoever has the id need not keep the Permit.
func TestAPermitIsNotReportedThatIsDroppedWhileItGetsALeaseByItsID(t *testing.T) {
	s, c, told := collected(t)
	p := acquire(t, s, 1)
	require.NoError(t, s.UpdateLease(t.Context(), id(p), long)) // the server knows the script
	require.NoError(t, p.Release(t.Context()))
	p = acquire(t, s, 1)
	c.on.Store(true)
	require.NoError(t, s.UpdateLease(t.Context(), id(p), long))
	require.False(t, c.on.Load())
	collect()
	require.Zero(t, told.count(redlatch.EventForgotten))
}

// A goroutine that waits for the end of permits need not keep them, nor their context: it has the channel.
func TestDroppedPermitsEndForWhatWaitsOnTheirDoneChannel(t *testing.T) {
	s, _, _ := collected(t)
	for _, lease := range []redlatch.Option{nil, redlatch.WithLease(time.Hour)} {
		ended := func() <-chan struct{} {
			p, err := s.Acquire(t.Context(), 1, lease)
			require.NoError(t, err)
			return p.Context(t.Context()).Done()
		}()
		collect()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatal("the channel is open although the permit was dropped, and is renewed no longer")
		}
	}
}
