package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/reporter"
)

// Report tells the registry of the tenant's holds. It is called by the reporter's own goroutine.
func (t *tenure) Report(s *reporter.Snapshot) {
	t.mu.Lock()
	c := t.tenant
	holds, since, kept, over := c.countedLocked(), c.first.Since, c.kept, c.live == 0 || t.lostLocked() != nil
	t.mu.Unlock()
	if over {
		return
	}
	left := max(0, time.Duration(t.entry.TrustedUntil().Sub(clock.Now())))
	s.Hold(reporter.Place{Kind: string(t.base.Kind.Label), Key: t.base.Key}, int64(holds), left,
		reporter.Owner{ID: fairqueue.Number(t.id), Since: since, Kept: kept})
}

var _ listing.Reported = (*tenure)(nil)
