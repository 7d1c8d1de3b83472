package redlock

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Lock is a lock shared by every process that uses the same name on the same servers. Goroutines that share
// a Lock exclude each other; only code that is given a Hold's context re-enters, and only this lock, not the
// lock of that name on one of the servers. It is safe for concurrent use, needs no closing, and costs nothing
// while it is not used.
//
// A Hold has no owner and no token, because each server knows it by another identity. It is trusted as long
// as a majority of the servers keeps it.
type Lock struct {
	of        quorum.Composite
	nodes     []node      // in the order of its bases
	contended atomic.Bool // the last call that waited for the lock got it from another process
}

// A node is the lock on one server.
type node struct {
	label string
	base  *baselock.Base
}

var (
	_ redlatch.Locker    = (*Lock)(nil)
	_ redlatch.Inspector = (*Lock)(nil)
)

// The kinds of the nodes: of those that can be the chair, which have a process queue, and of the others.
var chairKind, otherKind = locking.HandingOver(locking.Plain()), locking.Plain()

const takes = settings.Lease | settings.MaxHold | settings.Wait | settings.WatchdogTimeout | settings.NodeTimeout |
	settings.LocalHandOff |
	settings.LongHold

// New makes a lock on these servers. It does no I/O. Use an odd number, usually five; an even number survives
// no more failures than the odd number below it. New panics if there are none, or if a client is nil or of a
// kind that cannot carry locks. Two clients of one server, as far as their addresses show it, are reported by
// the calls, because they would not fail independently; so is a bad name or option. Options: WithNodeTimeout,
// WithLease, WithMaxHold, WithWait, WithWatchdogTimeout, WithoutLocalHandOff, and those that every primitive
// takes.
func New(clients []redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	if len(clients) == 0 {
		panic("redlatch: a redlock needs servers; give it the clients of five that are independent of each other")
	}
	l := &Lock{of: quorum.Composite{Kind: redlatch.KindRedlock, Name: name, Need: len(clients)/2 + 1,
		Defaults: rootapi.Apply(settings.Defaults(), opts)}}
	l.of.Of, l.of.Invalid = l, check(&l.of.Defaults)
	// waiters of locks that share only some of their servers cannot stand in for one another
	kind := string(redlatch.KindRedlock)
	for i, client := range clients {
		of := &otherKind
		if i <= len(clients)-l.of.Need { // while a majority is up, one of these is
			of = &chairKind
		}
		base := baselock.New(client, name, of, []redlatch.Option{forMember(opts)})
		l.nodes = append(l.nodes, node{label(i, client), base})
		l.of.Bases = append(l.of.Bases, base)
		kind += " " + base.Session.ID
	}
	l.of.Line = cohort.KeyFor(l.nodes[0].base.Key, kind)
	if i, j, shared := sharing(clients); shared && l.of.Invalid == nil {
		l.of.Invalid = errs.Wrong("the servers %s and %s are one, so they fail together; give each member a server of "+
			"its own", l.nodes[i].label, l.nodes[j].label)
	}
	return l
}

func check(set *settings.Settings) error { return set.Check("a redlock", takes) }

// chair is the place of the node that decides whose turn it is: the first that is not known to be down.
func (l *Lock) chair() int {
	for i, n := range l.nodes[:len(l.nodes)-l.of.Need+1] {
		if !n.base.Session.Down.Load() {
			return i
		}
	}
	return 0
}

// forMember are options as a member gets them: without what the redlock sees to itself.
func forMember(opts []redlatch.Option) redlatch.Option {
	opts = slices.Clone(opts)
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		for _, option := range opts {
			rootapi.Change(option, s)
		}
		s.Observer, s.Unobserved, s.SlowWait, s.LongHold, s.Wait, s.Once, s.Unreported = nil, true, 0, 0, 0, false, true
		s.Withhold(settings.Wait | settings.NodeTimeout | settings.LocalHandOff)
	})
}

// Name returns the name that the lock was made with.
func (l *Lock) Name() string {
	l.made()
	return l.of.Name
}

// Lock waits until a majority has granted the lock, ctx ends, or the time of WithWait is over. With a context
// that carries a live hold of this lock it re-enters. ctx governs the wait and nothing else. Waiters of one
// process are served in their order of arrival. The first of them stands in the queue of the first server, so
// processes are served in their order of arrival too, and a release wakes one of them. An Unlock hands the
// lock to the next waiter of its process without a command, for 10 ms at most; then the process leaves it to
// others for 4 ms. See [redlatch.WithoutLocalHandOff]. While too few servers answer it goes on for as long as
// [redlatch.WithOutage] says.
func (l *Lock) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return l.take(ctx, opts, false)
}

// TryLock asks once. The error matches ErrNotAcquired when too few servers granted the lock although enough
// of them answered, or when others in this process wait for it.
func (l *Lock) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return l.take(ctx, opts, true)
}

// Do takes the lock, runs fn with the hold's context and gives the lock back; see [redlatch.Do].
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...redlatch.Option) error {
	return redlatch.Do(ctx, l, fn, opts...)
}

// TryDo is Do that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out while the
// lock is busy; see [redlatch.TryDo].
func (l *Lock) TryDo(ctx context.Context, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	return redlatch.TryDo(ctx, l, fn, opts...)
}

// A call is one Lock or TryLock with its options.
//
// The goroutines of one process that want the lock wait in one local queue, and hand it on to one another
// without a command; see quorum. The grants of the servers go from hold to hold as they are. A server that
// grants the lock later joins the hold that has it by then.
type call struct {
	quorum.Call
	lock    *Lock
	carried []*quorum.Hold // those in force that its context carries
	again   bool           // its context carries the lock, so waiting behind others would be waiting for itself
}

func (l *Lock) resolve(opts []redlatch.Option, try bool) (*call, error) {
	of, err := l.of.Call(opts, try, check)
	if err == nil && len(opts) > 0 {
		of.Opts = []redlatch.Option{forMember(opts)}
	}
	return &call{Call: of, lock: l}, err
}

// made is called where a lock that New has not made would have no servers to ask.
func (l *Lock) made() {
	if len(l.nodes) == 0 {
		errs.Unmade("redlock.Lock is used without New; make it by redlock.New")
	}
}

func (l *Lock) take(ctx context.Context, opts []redlatch.Option, try bool) (*redlatch.Hold, error) {
	l.made()
	c, err := l.resolve(opts, try)
	if err != nil {
		return nil, err
	}
	return c.Take(ctx, c.acquire)
}

// The node timeout, where no option sets it, is a tenth of the lease within these bounds.
const (
	leastNodeTimeout = 50 * time.Millisecond
	mostNodeTimeout  = 500 * time.Millisecond
)

// nodeTimeout leaves at least half of the lease.
func (c *call) nodeTimeout() time.Duration {
	lease := c.Set.FirstLease()
	d := c.Set.NodeTimeout
	if d == 0 {
		d = max(leastNodeTimeout, min(lease/10, mostNodeTimeout))
	}
	return min(d, max(lease/2, time.Millisecond))
}
