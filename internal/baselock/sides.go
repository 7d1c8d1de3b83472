package baselock

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A lock with two sides is two kinds with one key. An owner has one side, one count and one ticket. A holder
// that writes and reads is two owners of one identity, the host and its guest. Each is renewed, lost and
// given back by itself.
//
// The guest has an identity that was not minted for it, so a second guest of the same host could be harmed by
// commands of the first that are executed late. It gets the host's identity only if every command of the one
// before it was answered, and otherwise one of its own, beside which the host's field is named in the
// acquisition.

// Readers are the ways of the reading side: its holds of one process are one to Redis.
type Readers struct {
	Plainly
	// Confirm asks whether an owner still holds, and whether others wait.
	Confirm func(Subject) scripts.Command[rwlock.Confirmation]
}

var _ Sharing = (*Readers)(nil)

// Acquire reads within a write hold of the context, or joins what others of the process hold, or asks.
func (r *Readers) Acquire(ctx context.Context, b *Base, set *settings.Settings, try bool) (*hold, error) {
	if h, err := b.beside(ctx, set, try); err != errOver {
		return h, err
	}
	h, waits := r.join(ctx, b, set, try)
	if h != nil {
		return h, nil
	}
	return comeFor(ctx, b, set, try, waits)
}

// Writers are the ways of the writing side.
type Writers struct{ Plainly }

// Acquire asks, unless the context carries a read hold: that one would be waited for.
func (w Writers) Acquire(ctx context.Context, b *Base, set *settings.Settings, try bool) (*hold, error) {
	if b.carriedOn(ctx, b.Kind.side().Barred) != nil {
		return nil, fmt.Errorf("%w (%s %q)", b.Kind.side().Bar, b.Kind.Label.Noun(), b.Name)
	}
	return w.Plainly.Acquire(ctx, b, set, try)
}

// admit acquires within host. It has the host's send lock meanwhile, so that the host is not given back
// before the outcome is known. It does not take a place in the local queue, because the waiters there wait
// for the host. errOver tells to look again.
func (b *Base) admit(ctx context.Context, in *tenant, set *settings.Settings, try bool) (*hold, error) {
	host := in.tenure
	if err := host.lockSend(ctx); err != nil {
		return nil, err
	}
	guest := host.resident()
	switch {
	case !in.holds():
		host.unlockSend()
		return nil, errOver
	case guest != nil && guest.first.holds(): // another call with the same context was faster
		host.unlockSend()
		return guest.first.reenter(ctx, set, try)
	}
	defer host.unlockSend()
	t := newTenure(b, set)
	t.host = host
	if guest == nil {
		t.id = host.id
	}
	host.mu.Lock()
	host.rareLocked().guest = t
	host.mu.Unlock()
	h, _, err := b.ask(ctx, t, try)
	if h == nil && err == nil {
		return nil, host.lose(watchdog.NotOwned, nil)
	}
	return h, err
}

// beside is for a context that carries a hold of the other side. It answers errOver where that does not
// matter.
func (b *Base) beside(ctx context.Context, set *settings.Settings, try bool) (*hold, error) {
	for {
		host := b.carriedOn(ctx, b.Kind.side().Within)
		if host == nil {
			return nil, errOver
		}
		h, err := b.admit(ctx, host, set, try)
		if err != errOver {
			return h, err
		}
	}
}
