package sides

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Acquire reads within a write hold of the context, or joins what others of the process hold, or asks.
func (r *Readers) Acquire(ctx context.Context, b *baselock.Base, set *settings.Settings,
	try bool) (*baselock.Hold, error) {
	if h, err := beside(ctx, b, set, try); err != baselock.ErrOver {
		return h, err
	}
	h, waits := r.join(ctx, b, set, try)
	if h != nil {
		return h, nil
	}
	return locking.Plainly{Waits: waits}.Acquire(ctx, b, set, try)
}

// Writers are the ways of the writing side.
type Writers struct{ locking.Plainly }

// Acquire asks, unless the context carries a read hold: that one would be waited for.
func (w Writers) Acquire(ctx context.Context, b *baselock.Base, set *settings.Settings,
	try bool) (*baselock.Hold, error) {
	if locking.CarriedOn(ctx, b, b.Kind.Side.Barred) != nil {
		return nil, fmt.Errorf("%w (%s %q)", b.Kind.Side.Bar, b.Kind.Label.Noun(), b.Name)
	}
	return w.Plainly.Acquire(ctx, b, set, try)
}

// admit acquires within host. It has the host's send lock meanwhile, so that the host is not given back
// before the outcome is known. It does not take a place in the local queue, because the waiters there wait
// for the host. ErrOver tells to look again.
func admit(ctx context.Context, b *baselock.Base, in *baselock.Tenant, set *settings.Settings,
	try bool) (*baselock.Hold, error) {
	host := in.Tenure
	if err := host.LockSend(ctx); err != nil {
		return nil, err
	}
	guest := host.Resident()
	switch {
	case !in.Holds():
		host.UnlockSend()
		return nil, baselock.ErrOver
	case guest != nil && guest.First.Holds(): // another call with the same context was faster
		host.UnlockSend()
		return guest.First.Reenter(ctx, set, try)
	}
	defer host.UnlockSend()
	t := baselock.NewTenure(b, set)
	t.Host = host
	if guest == nil {
		t.ID = host.ID
	}
	host.Admits(t)
	h, _, err := locking.Ask(ctx, t, try)
	if h == nil && err == nil {
		return nil, host.Lose(watchdog.NotOwned, nil)
	}
	return h, err
}

// beside is for a context that carries a hold of the other side. It answers ErrOver where that does not
// matter.
func beside(ctx context.Context, b *baselock.Base, set *settings.Settings, try bool) (*baselock.Hold, error) {
	for {
		host := locking.CarriedOn(ctx, b, b.Kind.Side.Within)
		if host == nil {
			return nil, baselock.ErrOver
		}
		h, err := admit(ctx, b, host, set, try)
		if err != baselock.ErrOver {
			return h, err
		}
	}
}
