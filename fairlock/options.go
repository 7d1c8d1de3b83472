package fairlock

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// WithPatience sets for how long a waiter of a fair lock keeps its place in the queue without a sign of life.
// The default is 15 s. A living waiter gives one at least every third of it, however long it waits. When the
// lock is free and the process of the next waiter has died, the others wait that long for it, once. A shorter
// patience lets them go on sooner, but asks Redis more often, and a process that is suspended for longer than
// the patience loses its places.
func WithPatience(d time.Duration) redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		if d < settings.MinPatience {
			s.Fail("WithPatience(%v): at least %v, so that three signs of life fit in", d, settings.MinPatience)
		}
		s.Give(settings.Patience)
		s.Patience = d
	})
}
