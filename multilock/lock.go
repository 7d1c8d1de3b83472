package multilock

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Lock is several locks that are held together. The hold is the holder, as with any lock: code that is
// given the context of its Hold takes the same multi-lock again, one of its members, or another multi-lock
// that has members in common, without waiting for itself. A member that is not reentrant answers with
// ErrNotReentrant at once.
//
// A Hold has no owner and no token, because each member has its own. It is trusted until the first of its
// members ends.
type Lock struct {
	_ [0]sync.Mutex // so that go vet finds copies

	of      quorum.Composite
	members []redlatch.Locker // in the order in which they are taken
	whole   bool              // each can be handed on, so the callers of this process wait for all of them in one queue
	options []redlatch.Option // of New, which the members get too
}

var (
	_ redlatch.Locker    = (*Lock)(nil)
	_ redlatch.Inspector = (*Lock)(nil)
)

// nobody is the panic of New when it gets no lockers, and of a call of a Lock that New has not made.
const nobody = "redlatch: a multi-lock of no locks would exclude nobody; make it by New, with at least one"

// mostMembers bounds what a call costs where others have some of the members: then each is asked for by a
// command of its own, and what the call has by then goes with every one.
const mostMembers = 1000

// New makes a lock of all lockers together. It does no I/O. It panics if there are none, or one is nil; more
// than 1000 are reported by the calls, and so are a bad option and two members that are one lock by way of
// two clients of one server, as far as the addresses of the clients show it. A Locker that is given twice is
// taken once. The options are the defaults of its calls: they go to all members, so they must suit each of
// them. WithNameMapper belongs to the members' New.
func New(lockers []redlatch.Locker, opts ...redlatch.Option) *Lock {
	if len(lockers) == 0 {
		panic(nobody)
	}
	l := &Lock{options: slices.Clone(opts), of: quorum.Composite{Kind: redlatch.KindMultiLock, Offers: true,
		Defaults: rootapi.Apply(settings.Defaults(), opts)}}
	l.of.Of, l.of.Invalid = l, check(&l.of.Defaults)
	if l.of.Invalid == nil && l.of.Defaults.Given(settings.NameMapper) {
		l.of.Invalid = errs.Wrong("a multi-lock has no key of its own, so WithNameMapper does not apply; give it to " +
			"the New of its members")
	}
	for _, m := range lockers {
		if m == nil {
			panic("redlatch: a member of the multi-lock is nil; pass the result of a New of the lock's package")
		}
		// Those that cannot be compared are different
		if !reflect.ValueOf(m).Comparable() || !slices.Contains(l.members, m) {
			l.members = append(l.members, m)
		}
	}
	if n := len(l.members); n > mostMembers && l.of.Invalid == nil {
		l.of.Invalid = errs.Wrong("a multi-lock has %d members at most, and not %d; where they can live in one key "+
			"lock them as the values of a group (multilock.NewGroup), else lock something larger that stands for many "+
			"of them", mostMembers, n)
	}
	slices.SortStableFunc(l.members, compare)
	var names []string
	for _, m := range l.members {
		names = append(names, m.Name())
	}
	l.of.Name, l.of.Need = strings.Join(slices.Compact(names), "+"), len(l.members)
	l.meet()
	l.of.Invalid = cmp.Or(l.of.Invalid, l.apart())
	return l
}

// compare orders two members by their names, those of one name by their keys, and groups of one key by their
// values. Of these the larger comes first, for who holds its values may take some of them again.
func compare(a, b redlatch.Locker) int {
	if order := strings.Compare(a.Name(), b.Name()); order != 0 {
		return order
	}
	key, values := place(a)
	otherKey, others := place(b)
	return cmp.Or(strings.Compare(key, otherKey), len(others)-len(values), slices.Compare(values, others))
}

// place is the key of a member, and its values if it is a group; nothing of a composite and of a program's
// own Locker.
func place(m redlatch.Locker) (key string, values []string) {
	if base := baseOf(m); base != nil {
		key = base.Key
	}
	if g, ok := m.(*Group); ok {
		values = g.values
	}
	return key, values
}

// baseOf is what a member stands on; nil for a composite and a program's own Locker.
func baseOf(m redlatch.Locker) *baselock.Base {
	if g, ok := m.(*Group); ok {
		return g.base
	}
	if ours(m, "rlock", "spinlock", "fairlock", "fencedlock", "rwlock") {
		return locking.Of(m)
	}
	return nil
}

// Name returns the names of the members in order, joined with plus signs; a name that several of them have
// appears once.
func (l *Lock) Name() string {
	l.made()
	return l.of.Name
}

// Lock waits until all members are held, ctx ends, or the time of WithWait is over. ctx governs the wait and
// nothing else. Options go to all members, so they must suit each of them; WithWait bounds the whole wait,
// and an observer is told about the multi-lock, not its members. With WithLease every member has the whole
// lease when Lock returns. While a server fails it goes on for as long as [redlatch.WithOutage] says.
func (l *Lock) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return l.take(ctx, opts, false)
}

// TryLock asks each member once and stops at the first that refuses. The error names it, and nothing is held
// then.
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
type call struct {
	quorum.Call
	lock *Lock
	opts []redlatch.Option // of New and of the call

	queued bool // its hold may be handed on to those who wait in the lock's line
	gives  bool // when it is refused a member it gives back the others; see rounds

	busy     int // the member that was busy, or inOrder
	refusals int
}

func (l *Lock) resolve(opts []redlatch.Option, try bool) (*call, error) {
	of, err := l.of.Call(opts, try, check)
	c := &call{Call: of, lock: l, opts: append(slices.Clip(l.options), opts...)}
	if len(c.opts) > 0 {
		c.Opts = []redlatch.Option{c.forMember(0)}
	}
	return c, err
}

func check(set *settings.Settings) error {
	if err := set.Check("a multi-lock", ^settings.Option(0)); err != nil { // the members say what they take
		return err
	}
	if set.AtLeast > 0 { // a member that is given back because another one is taken would stay taken as well
		return errs.Wrong("WithAtLeast does not apply to a multi-lock; leave it out")
	}
	return nil
}

// forMember are the options of the call as a member gets them: without the observer and what it is told of as
// lasting for long, which are the composite's, and with a wait of its own, 0 for what the member does by
// default.
func (c *call) forMember(wait time.Duration) redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		own := *s
		for _, option := range c.opts {
			rootapi.Change(option, s)
		}
		s.Observer, s.Unobserved, s.SlowWait, s.LongHold, s.Wait, s.Once = own.Observer, own.Unobserved, own.SlowWait,
			own.LongHold, own.Wait, own.Once
		if wait > 0 {
			s.Wait, s.Once = wait, false
		}
		s.Withhold(settings.Wait | settings.LongHold)
	})
}

// made is called where a lock that New has not made would have nobody to ask.
func (l *Lock) made() {
	if len(l.members) == 0 {
		panic(nobody)
	}
}

func (l *Lock) take(ctx context.Context, opts []redlatch.Option, try bool) (*redlatch.Hold, error) {
	l.made()
	c, err := l.resolve(opts, try)
	if err != nil {
		return nil, err
	}
	return c.Take(ctx, func(ctx context.Context) (*quorum.Hold, error) {
		h, err := c.acquire(ctx)
		if err != nil {
			err = l.failed(err)
		}
		return h, err
	})
}
