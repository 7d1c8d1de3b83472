package permitsemaphore

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
)

// A Permit is what one Acquire got: one permit, or several that stand and fall together. Its methods may be
// called from any goroutine.
//
// A Permit that the program drops without Release or Leave, while it is renewed, is noticed by the garbage
// collector: it is reported through the semaphore's logger (or slog.Default) with the place where it was
// acquired, is no longer renewed, and ends with its lease; its contexts end. A program that keeps the ids may
// drop a Permit with a lease of its own, or with none; and to release a Permit by its ids may be the last use
// of it.
type Permit struct {
	_ [0]sync.Mutex // so that go vet finds copies

	inner   *grant
	cleanup runtime.Cleanup
}

func newPermit(inner *grant) *Permit {
	p := &Permit{inner: inner}
	p.cleanup = holds.OnDrop(p, inner, holds.Here())
	return p
}

// made is the machinery's side of a Permit that a semaphore has made. A nil Permit is what an Acquire returns
// with an error.
func (p *Permit) made() *grant {
	if p == nil || p.inner == nil {
		errs.Unmade("a permitsemaphore.Permit is used that no semaphore has made; look at the error of Acquire before its permit")
	}
	return p.inner
}

// IDs returns the ids of the permits, 32 hexadecimal digits each, by which any process may release them;
// without those that were released by their id in this process. Of no permits it is empty. After Release it
// may be empty, if it was not asked for before: the permits may have gone to another goroutine of this
// process, and by their ids the program could release what that one has.
func (p *Permit) IDs() []string {
	p.made().tell()
	ids := p.made().names()
	runtime.KeepAlive(p)
	return ids
}

// Context returns a child of parent that ends when the Permit does. Then [context.Cause] matches ErrReleased
// after Release, and ErrLost when one of the permits was lost or may have been. The context keeps the Permit
// alive: work that still has the context still holds the permits.
func (p *Permit) Context(parent context.Context) context.Context {
	return holds.NewContext(parent, p.made(), p)
}

// Release gives back the permits. The Permit's contexts end first. It ignores the cancellation of ctx and has
// a time limit of its own ([redlatch.WithReleaseTimeout]), after which the release is repeated in the
// background.
//
// The error matches ErrReleased when the Permit was given back before, and ErrLost when a permit was lost
// before or is found lost now; the permits that are left are given back all the same.
func (p *Permit) Release(ctx context.Context) error {
	inner := p.made()
	p.cleanup.Stop()
	err := inner.Unlock(ctx)
	runtime.KeepAlive(p)
	return err
}

// Leave ends the Permit and leaves its permits to their lease: nothing is sent, nothing is renewed any
// longer, and the permits come back when the lease is over. Those without expiry stay taken until they are
// released by their ids, which any process may do. The Permit's contexts end with ErrReleased. It is not
// reported, except to an observer ([redlatch.EventLeft]); Release returns ErrReleased after it.
//
// It is for permits that stand for something that lasts as long as the lease, such as one of ten calls in a
// second, and for those that another process gives back.
func (p *Permit) Leave() {
	inner := p.made()
	p.cleanup.Stop()
	inner.Leave()
	runtime.KeepAlive(p)
}

// UpdateLease makes the permits end lease from now, later or sooner than they would have, and not be renewed
// from then on; with NoExpiry they never end. When the outcome is unknown the error matches ErrUncertain, and
// the Permit is trusted no longer than either outcome allows.
func (p *Permit) UpdateLease(ctx context.Context, lease time.Duration) error {
	if err := checkLease("UpdateLease", lease); err != nil {
		return err
	}
	err := p.made().Extend(ctx, lease)
	runtime.KeepAlive(p)
	return err
}

// Until returns the moment up to which the permits are certainly held, as far as is known without asking
// Redis; for permits without expiry it is a hundred years away. It moves on as renewals succeed, and is in
// the past once the Permit is over.
func (p *Permit) Until() time.Time {
	until := p.made().Until()
	runtime.KeepAlive(p)
	return until
}

// Valid reports whether the permits are certainly still held, by the clock alone. It is also false when the
// process was suspended past Until and nothing had a chance to end the contexts.
func (p *Permit) Valid() bool {
	return p.made().Ending().Cause() == nil && time.Now().Before(p.Until())
}

// LogValue is the Permit in a line of slog: a group with the name of the semaphore, the primitive, the first
// id as the owner, and until when the permits are trusted. As slog.Any("permit", permit) they are
// permit.name, permit.primitive, and so on.
func (p *Permit) LogValue() slog.Value {
	p.made().tell()
	value := holds.LogValue(p.made())
	runtime.KeepAlive(p)
	return value
}
