package parallel_test

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/rwlock"
)

// A target is what one call is to take, and what that guards.
type target struct {
	lock     locktest.Lock
	sections []*section
	shared   bool          // others may have it at the same time
	inner    locktest.Lock // may be taken within the lock; nil: none
	refuses  error         // what inner says to that
	tokens   bool          // each hold has a greater one than those before it
}

// locks are the use of all kinds of locks.
type locks struct {
	pick  func(g *goroutine) target
	terms []func(g *goroutine) redlatch.Option // that the kind takes beyond those of all locks
}

// common are terms under which no hold is lost, however busy the machine is.
var common = []func(g *goroutine) redlatch.Option{
	func(g *goroutine) redlatch.Option { return redlatch.WithLease(time.Minute + g.up(time.Minute)) },
	func(g *goroutine) redlatch.Option { return redlatch.WithMaxHold(time.Minute + g.up(time.Minute)) },
	func(g *goroutine) redlatch.Option {
		return redlatch.WithWatchdogTimeout(30*time.Second + g.up(time.Minute))
	},
	func(g *goroutine) redlatch.Option {
		return redlatch.WithPoll(50*time.Millisecond + g.up(3*time.Second))
	},
}

// brief are terms under which holds end by themselves.
var brief = []func(g *goroutine) redlatch.Option{
	func(g *goroutine) redlatch.Option { return redlatch.WithLease(10*time.Millisecond + g.up(time.Second)) },
	func(g *goroutine) redlatch.Option {
		return redlatch.WithMaxHold(5*time.Millisecond + g.up(100*time.Millisecond))
	},
	func(g *goroutine) redlatch.Option {
		return redlatch.WithWatchdogTimeout(100*time.Millisecond + g.up(time.Second))
	},
}

// own are terms that some kinds do not take.
var (
	atLeast = func(g *goroutine) redlatch.Option {
		return redlatch.WithAtLeast(time.Millisecond + g.up(time.Millisecond))
	}
	noHandOff  = func(*goroutine) redlatch.Option { return redlatch.WithoutLocalHandOff() }
	patience   = func(g *goroutine) redlatch.Option { return fairlock.WithPatience(5*time.Second + g.up(10*time.Second)) }
	preference = func(*goroutine) redlatch.Option { return rwlock.WithWriterPreference() }
)

// options are those of one call: mostly none.
func (g *goroutine) options(of ...[]func(g *goroutine) redlatch.Option) (opts []redlatch.Option) {
	if g.special(4) {
		for range 1 + g.dice.IntN(2) {
			list := of[g.dice.IntN(len(of))]
			if len(list) > 0 {
				opts = append(opts, list[g.dice.IntN(len(list))](g))
			}
		}
	}
	return opts
}

// act takes a lock, visits what it guards, and gives it back.
func (l *locks) act(g *goroutine) {
	t := l.pick(g)
	opts := g.options(common, l.terms)
	if g.world.mode == forced {
		opts = g.options(common, l.terms, brief)
	}
	ctx, ends, stop := g.bounded()
	defer stop()
	take, what, allowed := t.lock.Lock, "Lock", []error{}
	switch {
	case g.special(8):
		take, what, allowed = t.lock.TryLock, "TryLock", []error{redlatch.ErrNotAcquired}
	case g.special(8):
		opts, allowed = append(opts, redlatch.WithWait(g.up(5*time.Millisecond))), []error{redlatch.ErrNotAcquired, context.DeadlineExceeded}
	}
	if ends {
		allowed = append(allowed, redlatch.ErrNotAcquired, context.DeadlineExceeded, context.Canceled)
	}
	var hold *redlatch.Hold
	var err error
	g.world.watch.call(g.caller, what, func() { hold, err = take(ctx, opts...) })
	if err != nil {
		g.judge(what, err, allowed...)
		return
	}
	g.world.calls.Add(1)
	for _, s := range t.sections {
		s.visit(g, t.shared)
	}
	if t.tokens && g.world.mode != forced {
		s := t.sections[0]
		if token := hold.Token(); token <= s.token {
			g.world.complain("a hold has token %d, and one before it had %d", token, s.token)
		}
		s.token = hold.Token()
	}
	if g.special(8) {
		g.use(hold, t)
	}
	g.world.watch.call(g.caller, "Unlock", func() { err = hold.Unlock(ctx) })
	g.judge("Unlock", err)
	if g.special(60) {
		g.look(t.lock)
	}
}

// use does with a hold what programs do.
func (g *goroutine) use(hold *redlatch.Hold, t target) {
	within, cancel := context.WithCancel(hold.Context(context.Background()))
	defer cancel()
	switch g.dice.IntN(4) {
	case 0:
		_, _, _ = hold.Valid(), hold.Until(), hold.Owner()
	case 1:
		context.AfterFunc(within, func() {})
	case 2:
		var err error
		g.world.watch.call(g.caller, "Extend", func() { err = hold.Extend(context.Background(), time.Minute+g.up(time.Minute)) })
		g.judge("Extend", err)
	case 3:
		if t.inner == nil {
			return
		}
		var inner *redlatch.Hold
		var err error
		g.world.watch.call(g.caller, "Lock within", func() { inner, err = t.inner.Lock(within) })
		if err != nil {
			g.judge("Lock within", err, t.refuses)
			return
		}
		if t.refuses != nil {
			g.world.complain("a lock was taken within a hold that forbids it")
		}
		g.world.watch.call(g.caller, "Unlock within", func() { err = inner.Unlock(context.Background()) })
		g.judge("Unlock within", err)
	}
}

// look asks about a lock.
func (g *goroutine) look(lock locktest.Lock) {
	var err error
	g.world.watch.call(g.caller, "Inspect", func() { _, err = lock.Inspect(context.Background()) })
	g.judge("Inspect", err)
	g.world.watch.call(g.caller, "IsLocked", func() { _, err = lock.IsLocked(context.Background()) })
	g.judge("IsLocked", err)
}
