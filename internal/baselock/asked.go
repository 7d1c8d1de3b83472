package baselock

import (
	"slices"

	"github.com/redlatch/redlatch/internal/session"
)

// HoldsAs is the key of the lock if the owner has this identity and holds.
func (o *owner) HoldsAs(identity string) (key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.id != identity || o.live == 0 || o.lostLocked() != nil {
		return ""
	}
	return o.base.Key
}

// Asked has the observers know, those of a composite that stands on a hold of the owner too, that somebody
// asks for the lock. It changes nothing else: whether the lock is given back is the program's affair.
func (o *owner) Asked(who, why string) {
	o.mu.Lock()
	holds := slices.Collect(o.sharedLocked())
	o.mu.Unlock()
	session.Logger(o.set.Logger).Warn("redlatch: somebody asks for a lock to be given back", "lock.name", o.base.Name,
		"lock.primitive", o.base.Kind.Label, "lock.owner", o.id, "who", who, "why", why)
	for _, h := range holds {
		h.told.Load().Asked(who, why)
		h.ending.Ask(who, why)
	}
}
