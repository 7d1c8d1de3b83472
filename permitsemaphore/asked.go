package permitsemaphore

import (
	"slices"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/session"
)

// HoldsAs is the key of the semaphore if a permit of the grant has this id and was not given back.
func (g *grant) HoldsAs(id string) (key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.overLocked() || !slices.Contains(texts(g.ids), id) {
		return ""
	}
	return g.semaphore.counter.Key
}

// Asked has the observer know that another process asks for a permit of the grant.
func (g *grant) Asked(who, why string) {
	session.Logger(g.set.Logger).Warn("redlatch: somebody asks for a permit to be given back",
		"lock.name", g.semaphore.counter.Name,
		"lock.primitive", redlatch.KindPermitSemaphore, "lock.owner", g.Owner(), "who", who, "why", why)
	g.Hold.Asked(who, why)
}
