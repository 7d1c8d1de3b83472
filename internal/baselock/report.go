package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/reporter"
)

// Report tells the registry of the tenant's holds. It is called by the reporter's own goroutine.
func (t *Tenure) Report(s *reporter.Snapshot) {
	t.Mu.Lock()
	c := t.Tenant
	holds, since, kept, over := c.countedLocked(), c.first.Since, c.kept, c.Live == 0 || t.LostLocked() != nil
	t.Mu.Unlock()
	if over {
		return
	}
	left := max(0, time.Duration(t.Entry.TrustedUntil().Sub(clock.Now())))
	s.Hold(reporter.Place{Kind: string(t.Base.Kind.Label), Key: t.Base.Key}, int64(holds), left,
		reporter.Owner{ID: fairqueue.Number(t.ID), Since: since, Kept: kept})
}

var _ listing.Reported = (*Tenure)(nil)
