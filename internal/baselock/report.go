package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/reporter"
)

// Report tells the registry of the owner's holds. It is called by the reporter's own goroutine.
func (o *owner) Report(s *reporter.Snapshot) {
	o.mu.Lock()
	holds, since, kept, over := o.countedLocked(), o.first.since, o.kept, o.live == 0 || o.lostLocked() != nil
	o.mu.Unlock()
	if over {
		return
	}
	left := max(0, time.Duration(o.ticket.TrustedUntil().Sub(clock.Now())))
	s.Hold(reporter.Place{Kind: string(o.base.Kind.Label), Key: o.base.Key}, int64(holds), left,
		reporter.Owner{ID: fairqueue.Number(o.id), Since: since, Kept: kept})
}

var _ listing.Reported = (*owner)(nil)
