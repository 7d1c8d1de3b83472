package baselock

import (
	"slices"

	"github.com/redlatch/redlatch/internal/session"
)

// HoldsAs is the key of the lock if the tenure has this identity and is held.
func (t *tenure) HoldsAs(identity string) (key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.id != identity || t.tenant.live == 0 || t.lostLocked() != nil {
		return ""
	}
	return t.base.Key
}

// Asked tells the observers that another process asks for the lock. Those of a composite are told too, if it
// stands on a hold of the tenant. Nothing else changes: the program decides whether it gives the lock back.
func (t *tenure) Asked(who, why string) {
	t.mu.Lock()
	holds, set := slices.Collect(t.tenant.holdsLocked()), t.tenant.set
	t.mu.Unlock()
	session.Logger(set.Logger).Warn("redlatch: somebody asks for a lock to be given back", "lock.name", t.base.Name,
		"lock.primitive", t.base.Kind.Label, "lock.owner", t.id, "who", who, "why", why)
	for _, h := range holds {
		h.Asked(who, why)
		h.Ending().Ask(who, why)
	}
}
