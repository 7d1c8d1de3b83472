package baselock

import (
	"slices"

	"github.com/redlatch/redlatch/internal/session"
)

// HoldsAs is the key of the lock if the tenure has this identity and is held.
func (t *Tenure) HoldsAs(identity string) (key string) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.ID != identity || t.Tenant.Live == 0 || t.LostLocked() != nil {
		return ""
	}
	return t.Base.Key
}

// Asked tells the observers that another process asks for the lock. Those of a composite are told too, if it
// stands on a hold of the tenant. Nothing else changes: the program decides whether it gives the lock back.
func (t *Tenure) Asked(who, why string) {
	t.Mu.Lock()
	holds, set := slices.Collect(t.Tenant.holdsLocked()), t.Tenant.Set
	t.Mu.Unlock()
	session.Logger(set.Logger).Warn("redlatch: somebody asks for a lock to be given back", "lock.name", t.Base.Name,
		"lock.primitive", t.Base.Kind.Label, "lock.owner", t.ID, "who", who, "why", why)
	for _, h := range holds {
		h.Asked(who, why)
		h.Ending().Ask(who, why)
	}
}
