package baselock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// Lock waits until the lock is held.
func (b *Base) Lock(ctx context.Context, opts []redlatch.Option) (*redlatch.Hold, error) {
	return b.take(ctx, opts, false)
}

// TryLock asks once.
func (b *Base) TryLock(ctx context.Context, opts []redlatch.Option) (*redlatch.Hold, error) {
	return b.take(ctx, opts, true)
}

func (b *Base) take(ctx context.Context, opts []redlatch.Option, try bool) (*redlatch.Hold, error) {
	set, err := b.resolve(opts, try)
	if err != nil {
		return nil, err
	}
	if set.Meet != nil {
		set.Meet(b)
		return nil, errMet
	}
	if set.Recognize != nil {
		set.Recognize(b.recognizes)
		return nil, errMet
	}
	call := b.call(ctx, set)
	defer call.Left()
	if call != nil {
		ctx = call.Context
	}
	ctx, cancel := set.Waiting(ctx, try)
	defer cancel()
	h, err := b.acquire(ctx, set, try || set.Once)
	if err != nil {
		err = b.explain(ctx, err)
		call.Refused(err)
		return nil, err
	}
	h.tell(call)
	return rootapi.Hold[*redlatch.Hold](h, holds.Acquired(h, 2)), nil // above are Lock and that of the primitive
}

// acquire re-enters through the hold of this lock that ctx carries, and goes the ways of its kind where there is
// none.
func (b *Base) acquire(ctx context.Context, set *settings.Settings, try bool) (*hold, error) {
	if err := b.ready(ctx, set.OutageFor(try)); err != nil {
		return nil, err
	}
	if c := b.carried(ctx); c != nil {
		if !b.Kind.Reentrant {
			return nil, fmt.Errorf("%w: lock %q; use another context, or redlatch.Detach", errs.NotReentrant, b.Name)
		}
		h, err := c.reenter(ctx, set, try)
		if err != errOver {
			return h, err
		}
	}
	return b.Kind.Ways.Acquire(ctx, b, set, try)
}

var errMet = errors.New("redlatch: the lock was only asked what it stands on")

// Of returns the base of a lock, which must be of a type of this module, nil if that is a composite.
func Of(lock redlatch.Locker) (base *Base) {
	_, _ = lock.TryLock(context.Background(), rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		s.Meet = func(b any) { base = b.(*Base) }
	}))
	return base
}

// moves tells whether a tenure of this kind is nothing but its field: it has no token, place in a queue, or
// other side.
func (k *Kind) moves() bool { return k.Tokens == nil && k.Queued == nil && k.Side == nil }
