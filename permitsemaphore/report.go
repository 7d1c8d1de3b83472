package permitsemaphore

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/reporter"
)

// Report tells the registry of the permits that were not given back. It is called by the reporter's own
// goroutine.
func (g *grant) Report(s *reporter.Snapshot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.overLocked() || len(g.ids) == 0 {
		return
	}
	left := max(0, g.ticket.TrustedUntil().Sub(clock.Now()))
	if g.lease == NoExpiry {
		left = reporter.Unleased
	}
	owners := make([]reporter.Owner, 0, registry.MostOwners)
	for _, id := range g.ids[:min(len(g.ids), registry.MostOwners)] {
		owners = append(owners, reporter.Owner{ID: text(id), Since: g.Since})
	}
	s.Hold(reporter.Place{Kind: string(redlatch.KindPermitSemaphore), Key: g.semaphore.counter.Key},
		int64(len(g.ids)), left, owners...)
}

var _ listing.Reported = (*grant)(nil)
