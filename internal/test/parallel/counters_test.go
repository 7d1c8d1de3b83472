package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/semaphore"
)

// most is the number of permits of a semaphore.
const most = 4

// taken counts the permits that are out.
type taken struct{ n atomic.Int64 }

// visit has n permits out for a moment.
func (t *taken) visit(g *goroutine, n int64) {
	if out := t.n.Add(n); out > most && g.world.mode != forced {
		g.world.complain("%d of %d permits are out", out, most)
	}
	g.linger()
	t.n.Add(-n)
}

// acquire makes a call for permits. It tells whether they were acquired.
func (g *goroutine) acquire(take, try func(ctx context.Context, opts ...redlatch.Option) error, opts []redlatch.Option) bool {
	ctx, ends, stop := g.bounded()
	defer stop()
	what, allowed := "Acquire", []error{}
	switch {
	case g.special(8):
		take, what, allowed = try, "TryAcquire", []error{redlatch.ErrNotAcquired}
	case g.special(8):
		opts, allowed = append(opts, redlatch.WithWait(g.up(5*time.Millisecond))), []error{redlatch.ErrNotAcquired, context.DeadlineExceeded}
	}
	if ends {
		allowed = append(allowed, redlatch.ErrNotAcquired, context.DeadlineExceeded, context.Canceled)
	}
	var err error
	g.world.watch.call(g.caller, what, func() { err = take(ctx, opts...) })
	g.judge(what, err, allowed...)
	if err == nil {
		g.world.calls.Add(1)
	}
	return err == nil
}

// permits is a semaphore without owners.
func permits() kind {
	var main [3]*semaphore.Semaphore
	var out taken
	terms := []func(g *goroutine) redlatch.Option{noHandOff, common[3]}
	set := func(s *semaphore.Semaphore) error {
		_, err := s.TrySetPermits(context.Background(), most)
		return err
	}
	return kind{
		name: "semaphore", goroutines: 64, servers: 1,
		setUp: func(w *world) {
			for process := range main {
				main[process] = semaphore.New(w.of(process)[0], w.name, w.defaults()...)
			}
			if err := set(main[2]); err != nil {
				w.t.Fatal(err)
			}
		},
		act: func(g *goroutine) {
			s, n := main[g.client], int64(1+g.dice.IntN(2))
			if !g.acquire(
				func(ctx context.Context, opts ...redlatch.Option) error { return s.Acquire(ctx, n, opts...) },
				func(ctx context.Context, opts ...redlatch.Option) error { return s.TryAcquire(ctx, n, opts...) },
				g.options(terms)) {
				return
			}
			out.visit(g, n)
			var err error
			g.world.watch.call(g.caller, "Release", func() { err = s.Release(context.Background(), n) })
			g.judge("Release", err)
			if g.special(60) {
				g.world.watch.call(g.caller, "Inspect", func() { _, err = s.Inspect(context.Background()) })
				g.judge("Inspect", err)
			}
		},
		force: func(_ *world, process int) error {
			ctx, s := context.Background(), main[process]
			_, gone := s.Delete(ctx)
			first, err := s.TrySetPermits(ctx, most)
			if err == nil && !first { // a release was faster, and the permits that were not out are gone
				_, err = s.AddPermits(ctx, most)
			}
			return errors.Join(gone, err)
		},
		tearDown: func(w *world) {
			w.eventually("permits are missing", func() (string, bool) {
				n, err := main[2].AvailablePermits(context.Background())
				return fmt.Sprint(n, err), n == most || w.mode == forced
			})
			if _, err := main[2].Delete(context.Background()); err != nil {
				w.t.Error(err)
			}
		},
	}
}

// identified is a semaphore whose permits have identities.
func identified() kind {
	var main [3]*permitsemaphore.Semaphore
	var out taken
	set := func(s *permitsemaphore.Semaphore) error {
		_, err := s.TrySetPermits(context.Background(), most)
		return err
	}
	return kind{
		name: "permitsemaphore", goroutines: 64, servers: 1,
		setUp: func(w *world) {
			for process := range main {
				main[process] = permitsemaphore.New(w.of(process)[0], w.name, w.defaults()...)
			}
			if err := set(main[2]); err != nil {
				w.t.Fatal(err)
			}
		},
		act: func(g *goroutine) {
			s, n := main[g.client], int64(1+g.dice.IntN(2))
			opts := g.options(common, []func(*goroutine) redlatch.Option{noHandOff})
			if g.world.mode == forced {
				opts = g.options(common, brief)
			}
			var permit *permitsemaphore.Permit
			if !g.acquire(
				func(ctx context.Context, opts ...redlatch.Option) (err error) {
					permit, err = s.Acquire(ctx, n, opts...)
					return err
				},
				func(ctx context.Context, opts ...redlatch.Option) (err error) {
					permit, err = s.TryAcquire(ctx, n, opts...)
					return err
				},
				opts) {
				return
			}
			out.visit(g, n)
			give, err := permit.Release, error(nil)
			if g.special(8) {
				within, cancel := context.WithCancel(permit.Context(context.Background()))
				context.AfterFunc(within, func() {})
				cancel()
				switch g.dice.IntN(3) {
				case 0:
					g.world.watch.call(g.caller, "UpdateLease", func() { err = permit.UpdateLease(context.Background(), time.Minute+g.up(time.Minute)) })
					g.judge("UpdateLease", err)
				case 1:
					_, _ = permit.IDs(), permit.Valid()
				case 2:
					ids := permit.IDs()
					give = func(ctx context.Context) error { return s.Release(ctx, ids...) }
				}
			}
			g.world.watch.call(g.caller, "Release", func() { err = give(context.Background()) })
			g.judge("Release", err)
			if g.special(60) {
				g.world.watch.call(g.caller, "Inspect", func() { _, err = s.Inspect(context.Background()) })
				g.judge("Inspect", err)
			}
		},
		force: func(_ *world, process int) error {
			_, err := main[process].Delete(context.Background())
			return errors.Join(err, set(main[process]))
		},
		tearDown: func(w *world) {
			w.eventually("permits are missing", func() (string, bool) {
				n, err := main[2].AvailablePermits(context.Background())
				return fmt.Sprint(n, err), n == most || w.mode == forced
			})
			if _, err := main[2].Delete(context.Background()); err != nil {
				w.t.Error(err)
			}
		},
	}
}

// A turn is one latch: so many count, each after it has written what those read who have waited.
type turn struct {
	latch  [3]*countdownlatch.Latch
	number int
	next   atomic.Int64
	wrote  [16]int
}

// latches are one latch after the other.
func latches() kind {
	var mu sync.Mutex
	var now *turn
	number := 0
	// advance makes the next latch if old is the present one.
	advance := func(w *world, old *turn) {
		mu.Lock()
		defer mu.Unlock()
		for now == old {
			number++
			t := &turn{number: number}
			for process := range t.latch {
				t.latch[process] = countdownlatch.New(w.of(process)[0], fmt.Sprint(w.name, ".", number), w.defaults()...)
			}
			if set, err := t.latch[number%2].TrySetCount(context.Background(), int64(len(t.wrote))); err == nil && set {
				now = t
			} else if w.mode != doubt || err == nil {
				w.complain("TrySetCount: %t, %v", set, err)
			}
		}
	}
	present := func() *turn {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	return kind{
		name: "countdownlatch", goroutines: 64, servers: 1,
		setUp: func(w *world) { advance(w, nil) },
		act: func(g *goroutine) {
			t := present()
			latch := t.latch[g.client]
			if i := t.next.Add(1) - 1; i < int64(len(t.wrote)) {
				t.wrote[i] = t.number
				var err error
				g.world.watch.call(g.caller, "CountDown", func() { err = latch.CountDown(context.Background()) })
				g.judge("CountDown", err)
				return
			}
			ctx, ends, stop := g.bounded()
			defer stop()
			var allowed []error
			if ends {
				allowed = []error{redlatch.ErrNotAcquired, context.DeadlineExceeded, context.Canceled}
			}
			if g.world.mode == forced {
				allowed = append(allowed, countdownlatch.ErrDeleted)
			}
			var err error
			g.world.watch.call(g.caller, "Await", func() { err = latch.Await(ctx) })
			g.judge("Await", err, allowed...)
			switch {
			case err == nil:
				for i, wrote := range &t.wrote {
					if wrote != t.number {
						g.world.complain("the latch is open, and number %d has not counted", i)
					}
				}
				g.world.calls.Add(1)
				advance(g.world, t)
			case errors.Is(err, countdownlatch.ErrDeleted):
				advance(g.world, t)
			}
		},
		force: func(_ *world, process int) error {
			_, err := present().latch[process].Delete(context.Background())
			return err
		},
		tearDown: func(w *world) {
			if _, err := present().latch[2].Delete(context.Background()); err != nil {
				w.t.Error(err)
			}
		},
	}
}
