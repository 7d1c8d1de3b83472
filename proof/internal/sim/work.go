package sim

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// An Actor is what does steps in a process: of the simulation, or a real one.
type Actor struct {
	Name     string // of its process
	Objects  []Object
	Suite    Suite
	Redis    []redis.UniversalClient          // one for each server
	Context  context.Context                  // ends when the process is to end
	Now      func() history.Time              // the clock of the records
	Record   func(history.Record)             // puts a record down under the name of its client, as of now if it has no moment
	QueuedAt func(owner string) history.Time  // when an owner was first seen in a queue; 0 if it was not
	Keep     func(hold any)                   // holds have to be reachable for as long as the run lasts
	Wrong    func(format string, args ...any) // the plan or the run is wrong

	calls, ops atomic.Int64
	latches    sync.Map // by name: one object for each, whose count-downs share scripts
	owners     sync.Map // those that have held
}

// queuedAt is when the entry of a hold was first seen in a queue. A fair lock that is handed on without a command keeps its
// owner, which is the entry of the first of the row only; of the others it is not known.
func (c *Actor) queuedAt(owner string) history.Time {
	if _, known := c.owners.LoadOrStore(owner, true); known {
		return 0
	}
	return c.QueuedAt(owner)
}

func (c *Actor) latch(o Object) Barrier {
	if latch, ok := c.latches.Load(o.Name); ok {
		return latch.(Barrier)
	}
	latch, _ := c.latches.LoadOrStore(o.Name, c.Suite.Latch(c.Redis[0], o))
	return latch.(Barrier)
}

// Calls is how often the library was called.
func (c *Actor) Calls() int64 { return c.calls.Load() }

// An act is one operation of a client, on record for each thing that it concerns.
type act struct {
	client *Actor
	ops    []int64
	lease  history.Time // how long what it brings may outlast its client
}

func (a *act) record(what history.What, r history.Record) {
	for _, op := range a.ops {
		r.What, r.Op = what, op
		a.client.Record(r)
	}
}

// Take does a step: it acquires, holds, and gives back. The step within another one is made by the context of its hold.
func (c *Actor) Take(ctx context.Context, s Step) { c.take(ctx, s, nil) }

func (c *Actor) take(ctx context.Context, s Step, outer *act) {
	o := c.Objects[s.Object]
	call, stop := ctx, func() {}
	if s.Cancel > 0 {
		var cancel context.CancelFunc
		call, cancel = context.WithCancel(ctx)
		timer := time.AfterFunc(s.Cancel, cancel)
		stop = func() { timer.Stop(); cancel() }
	}
	c.calls.Add(1)
	a := c.call(o, s, outer)
	switch s.Way {
	case "count":
		var beside sync.WaitGroup
		for range s.N - 1 {
			beside.Go(func() { c.call(o, s, nil).returned(c.latch(o).CountDown(call), nil) })
		}
		a.returned(c.latch(o).CountDown(call), nil)
		beside.Wait()
		stop()
		return
	case "add":
		_, err := c.Suite.Semaphore(c.Redis[0], o).AddPermits(call, s.N)
		a.returned(err, nil)
		stop()
		return
	case "await":
		a.returned(c.latch(o).Await(call, s.options()...), nil)
		stop()
		return
	}
	h, err := c.acquire(call, o, s)
	stop()
	if a.returned(err, h) {
		c.Keep(h)
		c.hold(ctx, o, s, h, a)
		if s.Late > 0 && sleep(ctx, s.Late) == nil {
			c.write(ctx, o, s, h)
		}
	}
}

// call puts down what is about to be called.
func (c *Actor) call(o Object, s Step, outer *act) *act {
	r := history.Record{Mode: mode(s.Way), Try: s.Try || s.Wait < 0, N: s.N, Lease: s.longest(), Most: s.most(), Least: s.least(), Asks: s.Scripted || o.Kind == Group}
	if s.Way == "count" {
		r.N = 1
	}
	if outer != nil {
		r.Lease = max(r.Lease, outer.lease) // holds of one identity share a lease, which is never cut
	}
	a := &act{client: c, lease: r.Lease}
	for i, thing := range s.things(o) {
		a.ops = append(a.ops, c.ops.Add(1))
		r.What, r.Op, r.Object, r.Within = history.Call, a.ops[i], thing, 0
		if outer != nil {
			r.Within = outer.ops[i]
		}
		c.Record(r)
	}
	return a
}

func (s Step) things(o Object) []string {
	switch s.Way {
	case "first", "first value":
		return o.Things()[:1]
	case "second", "second value":
		return o.Things()[1:]
	}
	return o.Things()
}

func mode(way string) history.Mode {
	switch way {
	case "read":
		return history.Shared
	case "semaphore", "permits":
		return history.Permits
	case "add":
		return history.Add
	case "count":
		return history.CountDown
	case "await":
		return history.Await
	}
	return history.Exclusive
}

// handed is how long a lock lasts at first that another process has handed on.
const handed = 10 * time.Second

// longest is how long a hold may outlast its client.
func (s Step) longest() history.Time {
	if s.Way == "semaphore" || s.Way == "add" || s.NoLease {
		return 0
	}
	lease := max(s.Watchdog, handed)
	switch {
	case s.Lease > 0:
		lease = s.Lease
	case s.Watchdog == 0:
		lease = 30 * time.Second
	}
	if s.Way == "fair" { // a waiter is passed over after its patience without a sign of life, and may be handed the lock until then
		lease = max(lease, cmp.Or(s.Patience, 15*time.Second)+handed)
	}
	if s.Inner != nil && s.Inner.Lease == 0 && s.Watchdog == 0 { // which is renewed with the outer one's time-out
		lease = max(lease, 30*time.Second)
	}
	if s.Inner != nil {
		lease = max(lease, time.Duration(s.Inner.longest()))
	}
	return history.Time(max(lease, s.Extend, s.AtLeast+s.AtLeast/50) + time.Second)
}

// most is how long the step's hold may be believed in: WithMaxHold, or its lease if that is not extended. 0: no limit.
func (s Step) most() history.Time {
	most := s.MaxHold
	if s.Lease > 0 && s.Extend == 0 && (most == 0 || s.Lease < most) {
		most = s.Lease
	}
	return history.Time(most)
}

// least is for how long from the call on the step's hold cannot run out. A process hands on what is trusted for half of the
// watchdog's lease, or of the one with which a lock is passed if that is shorter.
func (s Step) least() history.Time {
	least := min(cmp.Or(s.Watchdog, 30*time.Second), handed)
	if s.Lease > 0 {
		least = s.Lease
	}
	if s.MaxHold > 0 {
		least = min(least, s.MaxHold)
	}
	if s.Extend > 0 && mode(s.Way) == history.Permits { // whose new lease may be shorter than the old one
		least = min(least, s.Extend)
	}
	return history.Time(least / 2)
}

func (c *Actor) acquire(ctx context.Context, o Object, s Step) (Hold, error) {
	if mode(s.Way) == history.Permits {
		counter := c.Suite.Semaphore(c.Redis[0], o)
		if s.Try {
			return counter.TryAcquire(ctx, s.N, s.options()...)
		}
		return counter.Acquire(ctx, s.N, s.options()...)
	}
	lock := c.Suite.Locker(c.Redis, o, s.Way)
	if s.Try {
		return lock.TryLock(ctx, s.options()...)
	}
	return lock.Lock(ctx, s.options()...)
}

func (s Step) options() (opts []redlatch.Option) {
	if s.Wait > 0 && !s.Try {
		opts = append(opts, redlatch.WithWait(s.Wait))
	}
	if s.Lease > 0 {
		opts = append(opts, redlatch.WithLease(s.Lease))
	}
	if s.MaxHold > 0 {
		opts = append(opts, redlatch.WithMaxHold(s.MaxHold))
	}
	if s.AtLeast > 0 {
		opts = append(opts, redlatch.WithAtLeast(s.AtLeast))
	}
	if s.Watchdog > 0 {
		opts = append(opts, redlatch.WithWatchdogTimeout(s.Watchdog))
	}
	if s.Poll > 0 && !s.Try {
		opts = append(opts, redlatch.WithPoll(s.Poll))
	}
	if s.Patience > 0 && !s.Try {
		opts = append(opts, fairlock.WithPatience(s.Patience))
	}
	if s.BackOff > 0 && !s.Try {
		opts = append(opts, spinlock.WithBackOff(func(n int64) time.Duration { return min(time.Millisecond<<min(n-1, 20), s.BackOff) }))
	}
	if s.Prefer {
		opts = append(opts, rwlock.WithWriterPreference())
	}
	if s.Scripted {
		opts = append(opts, redlatch.WithoutLocalHandOff())
	}
	if s.NoLease {
		opts = append(opts, permitsemaphore.WithoutExpiry())
	}
	return opts
}

// returned puts down how a call ended, and tells whether it brought what it asked for.
func (a *act) returned(err error, h Hold) bool {
	r := history.Record{}
	if err != nil {
		r.Text = err.Error()
	}
	switch {
	case err == nil:
		if h != nil {
			r.Token, r.Queued = h.Token(), a.client.queuedAt(h.Owner())
		}
		a.record(history.Got, r)
		return true
	case errors.Is(err, redlatch.ErrInvalid):
		a.client.Wrong("the plan is wrong: %v", err)
		a.record(history.Failed, r)
	case errors.Is(err, redlatch.ErrUncertain), errors.Is(err, redlatch.ErrUnavailable):
		a.record(history.Doubt, r)
	case errors.Is(err, redlatch.ErrNotAcquired), errors.Is(err, redlatch.ErrStale):
		a.record(history.Refused, r)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // without any answer
		a.record(history.Doubt, r)
	default:
		a.record(history.Failed, r)
	}
	return false
}

// samples is how often a holder looks whether its hold is still valid.
const samples = 4

// hold keeps what was acquired for as long as the step says, and gives it back.
func (c *Actor) hold(ctx context.Context, o Object, s Step, h Hold, a *act) {
	held := h.Context(context.Background())
	stop := context.AfterFunc(held, func() { a.record(history.Told, history.Record{}) })
	a.see(h, s.See == AtOnce)
	for i := range samples {
		if sleep(ctx, s.Hold/samples) != nil {
			break
		}
		if c.sample(h, a); i == 0 && s.Inner != nil {
			if sleep(ctx, s.Inner.Think) == nil {
				c.take(h.Context(ctx), *s.Inner, a)
			}
		}
		if i == 0 && s.Claim {
			c.claim(ctx, o, s, h)
		}
		a.see(h, i == 1 && s.See == Midway)
		if i == 2 && s.Write {
			c.write(ctx, o, s, h)
		}
		if i == 1 && s.Extend > 0 {
			c.calls.Add(1)
			_ = h.Extend(ctx, s.Extend) // a loss is told by the context
		}
	}
	c.sample(h, a)
	a.record(history.Leave, history.Record{})
	stop()
	c.calls.Add(1)
	if s.Leave && h.Leave() {
		a.record(history.Told, history.Record{})
		return
	}
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		a.see(h, s.See == Beside)
	}()
	c.giveBack(h, a, s.AtLeast > 0)
	<-seen
	a.see(h, s.See == After)
}

// see puts down the ids of a hold, if it is to ask for them.
func (a *act) see(h Hold, ask bool) {
	if ask {
		for _, id := range h.IDs() {
			a.record(history.Named, history.Record{Text: id})
		}
	}
}

// sample puts down whether the hold is valid, as of a moment before the question.
func (c *Actor) sample(h Hold, a *act) {
	at := c.Now()
	if h.Valid() {
		a.record(history.Valid, history.Record{At: at})
	}
}

// giveBack gives back as a program would: what has certainly not happened is tried again.
func (c *Actor) giveBack(h Hold, a *act, kept bool) {
	for range 20 {
		err := h.Release(context.Background())
		switch {
		case err == nil && kept: // the lock stays taken for a while
			a.record(history.Told, history.Record{})
			return
		case err == nil:
			a.record(history.Left, history.Record{})
			return
		case errors.Is(err, redlatch.ErrLost), errors.Is(err, redlatch.ErrReleased), errors.Is(err, redlatch.ErrUncertain):
			a.record(history.Unsure, history.Record{Text: err.Error()})
			if errors.Is(err, redlatch.ErrLost) {
				a.record(history.Lost, history.Record{})
			}
			a.record(history.Told, history.Record{})
			return
		}
		if sleep(c.Context, time.Second) != nil {
			break
		}
	}
	a.record(history.Unsure, history.Record{Text: "given up"})
}
