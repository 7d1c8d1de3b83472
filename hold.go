package redlatch

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Hold is one acquisition of a lock, and the proof of holding: only it can give the lock back. Its methods
// may be called from any goroutine.
//
// A Hold that the program drops without Unlock is noticed by the garbage collector: it is reported through
// the lock's logger (or slog.Default) with the place in the program where it was acquired, is no longer
// renewed, and ends with its lease. The place is noted for the first 256 holds of the program and for one in
// sixteen of the later ones, but not for a hold that came from another goroutine of the process without a
// command. The report of a hold without a place says so; from then on the place of each hold is noted.
type Hold struct {
	_ [0]sync.Mutex // so that go vet finds copies

	inner   holds.Hold
	cleanup runtime.Cleanup
}

func init() {
	rootapi.NewHold = func(inner holds.Hold, there *holds.Place) any {
		h := &Hold{inner: inner}
		h.cleanup = holds.OnDrop(h, inner, there)
		return h
	}
	// Adopt takes over the hold of a composite's member: from then on the composite answers for it, and it is
	// not reported when the wrapper is dropped.
	rootapi.Adopt = func(hold any) holds.Hold {
		h := hold.(*Hold)
		h.cleanup.Stop()
		inner := h.inner
		holds.Strike(inner)
		runtime.KeepAlive(h)
		return inner
	}
}

// made is the machinery's side of a Hold that a lock has made. A nil Hold is what a Lock returns with an
// error.
func (h *Hold) made() holds.Hold {
	if h == nil || h.inner == nil {
		errs.Unmade("a redlatch.Hold is used that no lock has made; look at the error of Lock before its hold")
	}
	return h.inner
}

// Context returns a child of parent that carries the hold: taking the same lock again with it re-enters. It
// ends when parent does, and also when the hold does. Then [context.Cause] matches ErrReleased after Unlock,
// and ErrLost when the lock was lost or may have been.
//
// The context keeps the Hold alive: work that still has the context still holds the lock. So does a context
// derived from it until that is cancelled, and an AfterFunc on it until that is stopped.
//
// A context that was waited on, or from which another one was derived, takes some 800 bytes until its parent
// or the hold ends. So make one for each parent. A leader, whose hold and parent last, makes one in all, and
// derives from that what each piece of work needs; a derived context leaves nothing behind once it is
// cancelled:
//
//	ctx = hold.Context(ctx) // not in the loop
//	for job := range jobs {
//		work, cancel := context.WithTimeout(ctx, time.Minute)
//		do(work, job)
//		cancel()
//	}
func (h *Hold) Context(parent context.Context) context.Context {
	return holds.NewContext(parent, h.made(), h)
}

// Unlock gives back this acquisition; the lock becomes free when the last acquisition of its holder is given
// back. The hold's contexts end first. Unlock ignores the cancellation of ctx and has a time limit of its own
// ([WithReleaseTimeout]), after which the release is repeated in the background until the lease is over.
//
// The error matches ErrReleased when this Hold was given back before, and ErrLost when the lock was lost
// before or is found lost now, or when this hold's own lease ([WithLease], [WithMaxHold]) was over before. A
// lock that goes to the next goroutine of this process without a command is not looked at: docs/guarantees.md
// says for how many milliseconds a lock may have been taken away then, and [WithoutLocalHandOff] has each
// Unlock ask. In no case is the lock of a later holder touched.
func (h *Hold) Unlock(ctx context.Context) error {
	inner := h.made()
	h.cleanup.Stop()
	err := inner.Unlock(ctx)
	runtime.KeepAlive(h)
	return err
}

// Leave ends the hold and leaves the lock to its lease: nothing is sent, nothing is renewed any longer, and
// the lock is free, for this process too, when the lease is over. The hold's contexts end with ErrReleased.
// It is not reported, except to an observer ([EventLeft]); Unlock returns ErrReleased after it. Other holds
// that share the lock go on: re-entries, and the readers of this process on an rwlock. They renew the lease
// for what was left, too, and it is over one lease after the last of them.
//
// It is for a lock that is to stay taken for a while although the work is done, whatever becomes of this
// process; see also [WithAtLeast].
func (h *Hold) Leave() {
	inner := h.made()
	h.cleanup.Stop()
	inner.Leave()
	runtime.KeepAlive(h)
}

// Extend makes the lock last for at least lease from now on, and this hold be trusted accordingly; other
// holds that share the lock with it keep their own leases. A lease shorter than the time that remains changes
// nothing, and one below a millisecond is ErrInvalid. A hold kept by the watchdog needs no Extend. After
// Unlock or Leave the error matches ErrReleased, and before these, if the lock is lost, ErrLost. After
// another error, as when the server is not reached within the time of [WithOutage] or ctx has ended, the hold
// is trusted for as long as it was before: see [Hold.Until].
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	if lease < settings.MinLease {
		return errs.Wrong("Extend: a lease is at least %v, not %v", settings.MinLease, lease)
	}
	err := h.made().Extend(ctx, lease)
	runtime.KeepAlive(h)
	return err
}

// Name returns the name of the lock that is held, as the lock has it.
func (h *Hold) Name() string {
	_, name := h.made().Object()
	return name
}

// Kind returns what is held: [KindFairLock], or [KindReadLock] for the reading side of a read-write lock.
func (h *Hold) Kind() Kind {
	kind, _ := h.made().Object()
	return Kind(kind)
}

// Owner returns the holder's identity in Redis, "<client uuid>:<number>". Goroutines of a process that hand a
// plain lock on to one another without a command hold it in turn as the same owner. It is empty for a hold of
// several locks.
func (h *Hold) Owner() string { return h.made().Owner() }

// Token returns the fencing token, 0 for locks that issue none.
func (h *Hold) Token() int64 { return h.made().Token() }

// Until returns the moment up to which the lock is certainly held, as far as is known without asking Redis.
// It moves on as renewals succeed, and is in the past once the hold is over.
func (h *Hold) Until() time.Time {
	until := h.made().Until()
	runtime.KeepAlive(h)
	return until
}

// Valid reports whether the hold is certainly still in force, by the clock alone. It is also false when the
// process was stopped past Until and nothing had a chance to end the contexts: code whose write must not come
// late calls Valid right before it. On Linux the time for which the system was suspended counts too.
func (h *Hold) Valid() bool {
	return h.made().Ending().Cause() == nil && time.Now().Before(h.Until())
}

// LogValue is the hold in a line of slog: a group with the name of what is held, the primitive, the owner,
// the fencing token where there is one, and until when the hold is trusted. As slog.Any("lock", hold) they
// are lock.name, lock.primitive, and so on.
func (h *Hold) LogValue() slog.Value {
	value := holds.LogValue(h.made())
	runtime.KeepAlive(h)
	return value
}

// Detach returns ctx without the holds it carries, for a goroutine that must not re-enter the locks of the
// code that started it.
func Detach(ctx context.Context) context.Context { return holds.Detach(ctx) }
