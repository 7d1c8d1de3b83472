package rlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// Contexts that end at any moment of an acquisition leave nothing behind.
func TestAcquisitionsCancelledAtAnyMomentLeaveNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, r := cancellable(t), newRig(t, srv)
		lock := r.lock()
		dice := rand.New(rand.NewPCG(1, 2))
		var got, ended int
		for range 300 {
			short, cancel := context.WithCancel(ctx)
			timer := time.AfterFunc(time.Duration(dice.IntN(800))*time.Microsecond, cancel)
			hold, err := lock.Lock(short)
			switch {
			case err == nil:
				got++
				require.NoError(t, hold.Unlock(short))
			default:
				ended++
				require.ErrorIs(t, err, context.Canceled) // what the call before took, and gives back, may have refused it
				require.NotErrorIs(t, err, redlatch.ErrUnavailable)
			}
			timer.Stop()
			cancel()
		}
		t.Logf("%d got the lock, %d left before", got, ended)
		require.NotZero(t, ended)
		eventually(t, "the lock is free", func() bool { return !r.locked(t) })
		hold := take(t, lock, ctx)
		require.NoError(t, hold.Unlock(ctx))
	})
}

// Sixteen goroutines of two processes, every kind of fault at one per cent each, all connections cut ten times a
// second: one number in the critical section, and in the end nothing is left.
func TestAStormOfFaultsNeverAdmitsTwo(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	ctx, r := cancellable(t), newRig(t, srv)
	other := newRig(t, srv)
	other.name = r.name
	acquisitions := int64(redistest.Rounds(60, 400))
	dice := newDice(3)
	for _, p := range []*faultproxy.Proxy{r.proxy, other.proxy} {
		for _, action := range []faultproxy.Action{
			faultproxy.DropReply, faultproxy.HalfReply, faultproxy.CloseAfter, faultproxy.ResetAfter, faultproxy.CloseBefore,
			faultproxy.DropRequest, faultproxy.Delay(700 * time.Millisecond), // later than the client waits
		} {
			p.On(func(c faultproxy.Command) bool { return script(c) && dice.one(100) }, 0, action)
		}
	}
	var (
		inside, made, overlaps, lost, refused atomic.Int64
		all                                   sync.WaitGroup
	)
	for worker := range 16 {
		lock := r.lock(redlatch.WithPoll(200 * time.Millisecond))
		if worker%2 == 1 {
			lock = other.lock(redlatch.WithPoll(200 * time.Millisecond))
		}
		all.Go(func() {
			for made.Add(1) <= acquisitions {
				hold, err := lock.Lock(ctx)
				if err != nil {
					refused.Add(1)
					continue
				}
				if inside.Add(1) > 1 && hold.Valid() {
					overlaps.Add(1)
				}
				time.Sleep(time.Duration(dice.n(1000)) * time.Microsecond)
				inside.Add(-1)
				if err := hold.Unlock(ctx); errors.Is(err, redlatch.ErrLost) {
					lost.Add(1)
				}
			}
		})
	}
	stop := make(chan struct{})
	cutter := sync.WaitGroup{}
	cutter.Go(func() {
		for cut := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-cut.C:
				r.proxy.CutAll()
				other.proxy.CutAll()
			case <-stop:
				cut.Stop()
				return
			}
		}
	})
	all.Wait()
	close(stop)
	cutter.Wait()
	require.Zero(t, overlaps.Load(), "two inside at once")
	require.Zero(t, lost.Load(), "a lease of 30 s outlasts every fault here")
	require.Zero(t, refused.Load())
	eventually(t, "the lock is free", func() bool { return !r.locked(t) })
}

// A dice is shared by goroutines.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, seed))} }

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func (d *dice) one(of int) bool { return d.n(of) == 0 }
