package holds_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/holds"
)

// collected collects garbage until done, or fails after a generous time.
func collected(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("still not seen: %s", what)
		}
		runtime.GC()
		time.Sleep(time.Millisecond) // clean-ups run on a goroutine of the runtime's
	}
}

// A parent is a context that counts who is registered with it. The context package calls its AfterFunc instead of
// starting a goroutine.
type parent struct {
	context.Context
	registered atomic.Int64
	onStop     func() // nil, or called when a registration is taken back
}

func newParent(t *testing.T) (*parent, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	return &parent{Context: ctx}, cancel
}

// Value hides the context beneath, or registrations would go past AfterFunc.
func (p *parent) Value(any) any { return nil }

func (p *parent) AfterFunc(f func()) func() bool {
	p.registered.Add(1)
	stop := context.AfterFunc(p.Context, f)
	var once atomic.Bool
	return func() bool {
		if once.CompareAndSwap(false, true) {
			p.registered.Add(-1)
		}
		if p.onStop != nil {
			p.onStop()
		}
		return stop()
	}
}

type public struct{ _ [64]byte } // stands for the Hold that programs have

func TestAContextKeepsThePublicHoldAlive(t *testing.T) {
	for name, parent := range map[string]context.Context{"Background": context.Background(), "a long-lived parent": t.Context()} {
		t.Run(name, func(t *testing.T) {
			h := &hold{}
			var forgotten atomic.Bool
			make := func() context.Context {
				p := &public{}
				runtime.AddCleanup(p, func(*hold) { forgotten.Store(true) }, h)
				return holds.NewContext(parent, h, p)
			}
			ctx := make()
			child, cancel := context.WithCancel(context.WithValue(ctx, key("a"), 1))
			ctx = nil
			for range 5 {
				runtime.GC()
				time.Sleep(time.Millisecond)
			}
			require.False(t, forgotten.Load(), "a derived context still holds")
			require.NoError(t, child.Err())
			cancel()
			child = nil
			collected(t, "the Hold, after its last context has gone", forgotten.Load)
			runtime.KeepAlive(h)
		})
	}
}

func TestContextsThatAreDroppedLeaveNothingWithALongLivedParent(t *testing.T) {
	p, cancel := newParent(t)
	defer cancel()
	h := &hold{}
	for range 100 {
		_ = holds.NewContext(p, h, &public{}).Err()
	}
	collected(t, "the registrations with the parent gone", func() bool { return p.registered.Load() == 0 })
	runtime.KeepAlive(h)
}

func TestTheEndOfAHoldReleasesItsContextsFromTheParent(t *testing.T) {
	p, cancel := newParent(t)
	defer cancel()
	h := &hold{}
	var kept []context.Context
	for range 100 {
		ctx := holds.NewContext(p, h, nil)
		_ = ctx.Done()
		kept = append(kept, ctx)
	}
	require.EqualValues(t, 100, p.registered.Load())
	h.ending.End(errOver)
	require.Zero(t, p.registered.Load(), "at once: the parent may live for days")
	runtime.KeepAlive(kept)
}

func TestTheEndOfAHoldPassesOverTheContextsThatAreGone(t *testing.T) {
	h := &hold{}
	drop := func() weak.Pointer[public] {
		keep := &public{}
		_ = holds.NewContext(context.Background(), h, keep).Err()
		return weak.Make(keep)
	}
	first := drop()
	standing := holds.NewContext(context.Background(), h, nil)
	second := drop()
	collected(t, "the contexts gone", func() bool { return first.Value() == nil && second.Value() == nil })
	h.ending.End(errOver)
	require.Equal(t, errOver, context.Cause(standing))
}

func TestALongHoldThatMakesAContextPerRequestStaysSmall(t *testing.T) {
	h := &hold{}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	standing := holds.NewContext(ctx, h, nil)
	var before, after runtime.MemStats
	measure := func(m *runtime.MemStats) { runtime.GC(); runtime.GC(); runtime.ReadMemStats(m) }
	const requests = 50_000
	request := func() {
		parent, cancel := context.WithTimeout(t.Context(), time.Hour) // whose timer would outlast the request
		c := holds.NewContext(parent, h, &public{})
		done := c.Done()
		cancel()
		<-done
	}
	request()
	measure(&before)
	for range requests {
		request()
	}
	measure(&after)
	growth := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	require.Less(t, growth, int64(requests*20), "a pointer kept per request would already be %d bytes", requests*8*3)
	h.ending.End(errOver)
	require.Equal(t, errOver, context.Cause(standing))
}

// The way of a leader, as it stands at [redlatch.Hold.Context].
func TestContextsDerivedFromOneLeaveNothingBehind(t *testing.T) {
	h := &hold{}
	parent, stop := context.WithCancel(t.Context())
	defer stop()
	ctx := holds.NewContext(parent, h, nil)
	var before, after runtime.MemStats
	measure := func(m *runtime.MemStats) { runtime.GC(); runtime.GC(); runtime.ReadMemStats(m) }
	const pieces = 50_000
	work := func() {
		piece, cancel := context.WithTimeout(ctx, time.Hour)
		require.NoError(t, piece.Err())
		select {
		case <-piece.Done():
			t.Fatal("the hold is not over")
		default:
		}
		cancel()
	}
	work()
	measure(&before)
	for range pieces {
		work()
	}
	measure(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(pieces*8), "less than a pointer for each")
	h.ending.End(errOver)
	require.Equal(t, errOver, context.Cause(ctx))
}

func TestEndReachesEveryOneOfThousandsOfContexts(t *testing.T) {
	h := &hold{}
	var kept []context.Context
	for i := range 5000 {
		ctx := holds.NewContext(t.Context(), h, nil)
		if i%3 == 0 {
			kept = append(kept, ctx)
		}
		if i%1000 == 0 {
			runtime.GC()
		}
	}
	h.ending.End(errOver)
	for _, ctx := range kept {
		require.Equal(t, errOver, context.Cause(ctx))
	}
}

// Who waits on the channel, or has registered a function, need not have the context itself any more. It must learn of
// the end all the same: that is the promise that a lost lock is noticed.
func TestTheEndReachesWhoOnlyHasTheDoneChannel(t *testing.T) {
	for name, end := range map[string]func(*hold, context.CancelFunc){
		"by the hold":   func(h *hold, _ context.CancelFunc) { h.ending.End(errOver) },
		"by the parent": func(_ *hold, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			h := &hold{}
			parent, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, done := func() (weak.Pointer[public], <-chan struct{}) {
				p := &public{}
				return weak.Make(p), holds.NewContext(parent, h, p).Done()
			}()
			collected(t, "the context gone", func() bool { return w.Value() == nil })
			end(h, cancel)
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("the channel was not closed")
			}
			runtime.KeepAlive(h)
		})
	}
}

func TestAfterFuncRunsAlthoughTheContextWasDropped(t *testing.T) {
	h := &hold{}
	ran := make(chan struct{})
	context.AfterFunc(holds.NewContext(t.Context(), h, &public{}), func() { close(ran) })
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	h.ending.End(errOver)
	select {
	case <-ran:
	case <-time.After(10 * time.Second):
		t.Fatal("the function that was registered for the end did not run")
	}
}

// A latecomer asks for the channel, and drops the context, while the end of the hold is being told.
func TestTheEndReachesWhoComesForTheDoneChannelMeanwhile(t *testing.T) {
	p, cancel := newParent(t)
	defer cancel()
	h := &hold{}
	first := holds.NewContext(p, h, nil)
	keep := &public{}
	late, gone := holds.NewContext(context.Background(), h, keep), weak.Make(keep)
	keep = nil
	var done <-chan struct{}
	p.onStop = func() { // first is told, late is not yet
		done = late.Done()
		late = nil
		collected(t, "the context gone", func() bool { return gone.Value() == nil })
	}
	h.ending.End(errOver)
	require.Error(t, first.Err())
	select {
	case <-done:
	default:
		t.Fatal("the channel was not closed")
	}
}
