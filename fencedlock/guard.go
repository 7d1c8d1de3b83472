package fencedlock

import (
	"context"
	"sync"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// A Guard protects data in the same Redis from those who no longer hold the lock. It remembers, beside the
// data, the greatest token that it has seen, and makes a write only when the write's token is not smaller:
// check and write are one step, so a newer holder cannot come in between. A refused write matches ErrStale.
//
// That is sound while the lock's counter of tokens survives, whatever happens to the lock itself: suspended
// processes, expiry, deletion, force. The package comment says what happens when the counter is lost. Where
// that must do no harm, use [WithClockTokens] for the lock. Without it the guard takes at least only one of
// two holders that were issued the same token: it remembers the first owner that shows it a token, and
// refuses the same token from another owner.
//
// It protects only against writes that go through it: all writers of the data must use a Guard of the same
// name, and holds of one lock, which usually has that name too. What a hold is known by may be passed to
// other processes and be used there, see [redlatch.Fenced]; the guard does not ask who holds the lock.
//
// Every write takes effect once or not at all, however often it has to be sent. When ctx ends before the
// outcome is known the error matches ErrUncertain, and the write is settled in the background. Until the
// server has answered to that, the write may still be made, even after later writes with the same token.
// After that it is never made.
//
// The user of the client needs the rights to SET, HSET and PEXPIRE, beside that to the command itself. The
// script notes the token behind the write, and only then meets a right that is missing: the error matches
// ErrUnavailable, and the write was made.
type Guard struct {
	_ [0]sync.Mutex // so that go vet finds copies

	counter *counter.Counter
	keys    fencedlock.Guarded
}

// NewGuard makes a guard. It does no I/O. On a cluster the guarded data must share the hash slot of the
// guard: give the keys its name in braces, as in {orders:42}:state. It takes only options that every
// primitive takes.
//
// The greatest token is kept in redlatch_guard:{name}, and the owner that first showed it in
// redlatch_guard_owner:{name}. The keys have no TTL: like the lock's own counter they must outlive every
// holder.
func NewGuard(client redlatch.Client, name string, opts ...redlatch.Option) *Guard {
	c := counter.New(client, name, redlatch.KindGuard, nil, 0, opts)
	return &Guard{counter: c, keys: fencedlock.Guarded{Seen: keys.Guard(c.Key), Owner: keys.GuardOwner(c.Key)}}
}

// made is the counter of a guard that NewGuard has made.
func (g *Guard) made() *counter.Counter {
	return errs.Made(g.counter, "fencedlock.Guard is used without NewGuard; make it by fencedlock.NewGuard")
}

// Name returns the name that the guard was made with.
func (g *Guard) Name() string { return g.made().Name }

// For returns the writer of a hold: what it writes is refused as soon as the guard has seen a newer hold. It
// does no I/O and takes every hold; one without a token, as of a lock of another package, is ErrInvalid from
// the writer's calls. For panics if the hold is nil.
func (g *Guard) For(hold redlatch.Fenced) *Writer {
	if hold == nil {
		panic("redlatch: Guard.For got no hold; pass what Lock of a fenced lock returned without an error")
	}
	return &Writer{guard: g, hold: hold}
}

// Greatest returns the greatest token that the guard has seen, 0 before the first.
func (g *Guard) Greatest(ctx context.Context) (int64, error) {
	return counter.Query(ctx, g.made(), lane.Read(g.keys.Seen))
}
