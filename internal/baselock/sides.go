package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
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

// resident is the latest guest, perhaps no longer as a holder.
func (t *tenure) resident() *tenure {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rare.guest
}

// moveOut leaves the host's identity to the next guest, if no command of this one can be executed any more. A
// guest with an identity of its own stays: there was one before it, of which that is not known.
func (t *tenure) moveOut() {
	if t.host == nil || t.id != t.host.id {
		return
	}
	t.mu.Lock()
	settled := t.rare.doubt == nil
	t.mu.Unlock()
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	if settled && t.host.rare.guest == t {
		t.host.rare.guest = nil
	}
}

// outlived is called when the clock has ended a tenure. A guest that is renewed keeps the key, and with it
// the field of its host. That field refuses no acquisition any longer, so it is released although its holder
// has not done so.
func (t *tenure) outlived(reason string) {
	if reason != watchdog.NotOwned && t.resident() != nil {
		t.pending()
	}
}

// asking is what the first acquisition says.
func (t *tenure) asking() Subject {
	s := t.subject(1, t.first.set.FirstLease())
	if t.host != nil {
		s.Host = t.host.field()
	}
	if t.announces {
		s.Session, s.Announce = t.base.Session.ID, patience(t.first.set)
	}
	return s
}

// announces tells whether waiters with these settings announce themselves when they are the head of the local
// queue. No other does: readers stand back for an announced writer, and if one of them were before it in the
// same local queue, neither could go on.
func (b *Base) announces(set *settings.Settings) bool {
	return set.PreferWriters && b.Kind.side().Withdraw != nil
}

// signOfLife is the longest pause between two attempts of a waiter that is announced. Each attempt renews the
// announcement. If the process of the waiter has died, the announcement runs out after two such pauses.
const signOfLife = 3 * time.Second

// giveSigns bounds the pauses of a waiter that announces itself.
func (b *Base) giveSigns(set *settings.Settings) {
	if b.announces(set) {
		set.Poll = min(set.Poll, signOfLife)
	}
}

// left is called when a waiter has left the local queue without the lock. Its announcement is taken back. The
// new head asks, because it may want the other side, which may be free.
func (b *Base) left(line *cohort.Queue, set *settings.Settings) {
	switch {
	case b.Kind.side().Cohort == "":
	case !b.announces(set):
		line.Wake()
	default:
		go func() {
			ctx, cancel := context.WithTimeout(b.background(b.defaults), settleAttempt)
			defer cancel()
			b.withdraw(ctx)
			line.Wake()
		}()
	}
}

// withdraw takes back the announcement of this process. Waiters that are still here hear of it, ask, and
// announce themselves anew. An attempt may be executed after the withdrawal of the waiter that sent it. So
// when its outcome was in doubt, its owner withdraws once more. Failures do not matter: an announcement that
// stays runs out soon.
func (b *Base) withdraw(ctx context.Context) {
	cmd := b.Kind.side().Withdraw(Subject{Key: b.Key, Session: b.Session.ID, Wake: b.wake()})
	_, _, _ = delivery.Deliver(ctx, b.Session.Dispatch, cmd, delivery.Limit{Outage: settleAttempt})
}
