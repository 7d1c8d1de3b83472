package baselock

import (
	"iter"
	"time"

	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A Tenant has a tenure: it is a first hold and its re-entries. The first tenant got it from Redis, the
// others by a move from the tenant before; see move.go. What the program asks of a hold is its tenant's, so
// that it does not change with what becomes of the tenure afterwards.
//
// A tenant of which no hold is left has the tenure no more, and gets none again. So the field in Redis is
// another tenant's perhaps. Acts that may come so late compare the tenant with the latest of the tenure,
// under its mutex, and do nothing for another one.
type Tenant struct {
	Tenure *Tenure
	Set    *settings.Settings // of the first acquisition
	first  Hold

	// The rest is guarded by the mutex of the tenure.

	inner  *[]*Hold        // nil, or those of re-entries that are not given back
	Token  int64           // the newest that it was issued
	until  watchdog.Moment // 0, or to when the tenure was trusted when the next tenant got it
	Live   int32           // holds handed out and not given back
	kept   bool            // its program has given it back, and WithAtLeast keeps it
	Offers bool            // its release asks whether outsiders wait; see [Offer]
}

// holdsLocked are the holds that were not given back.
func (c *Tenant) holdsLocked() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		if !c.first.released && !yield(&c.first) || c.inner == nil {
			return
		}
		for _, h := range *c.inner {
			if !yield(h) {
				return
			}
		}
	}
}

func (c *Tenant) AddLocked(h *Hold) {
	if c.inner == nil {
		c.inner = new([]*Hold)
	}
	*c.inner = append(*c.inner, h)
}

// countedLocked is how many holds Redis is to count.
func (c *Tenant) countedLocked() int32 { return c.Tenure.Shared.Counted(c.Live) }

// Holds tells whether the tenant has live holds.
func (c *Tenant) Holds() bool {
	c.Tenure.Mu.Lock()
	defer c.Tenure.Mu.Unlock()
	return c.Live > 0 && c.Tenure.LostLocked() == nil
}

// end is zero, or where WithMaxHold ends the tenant.
func (c *Tenant) end() time.Time {
	return c.first.EndsAfter(c.Set.MaxHold)
}

// Adjust stops the extending of the lease when the last hold that needs it was given back or dropped or is
// over, and all looking after the tenure when every hold that is left was dropped or is over, unless it has a
// guest. It may come when another tenant has the tenure.
func (c *Tenant) Adjust() {
	t := c.Tenure
	t.Mu.Lock()
	if t.Tenant != c {
		t.Mu.Unlock()
		return
	}
	// A guest keeps the key, and with it the field of its host. So the watchdog goes on looking after the
	// host's lease.
	kept, renewing := t.rare.guest != nil, false
	for h := range c.holdsLocked() {
		if !h.dropped && !h.over {
			kept, renewing = true, renewing || h.Renewed
		}
	}
	changed := renewing != t.renewing
	t.renewing = renewing
	switch {
	case !kept:
		t.forgetLocked()
	case changed:
		t.agreeLocked(t.Entry.TrustedUntil())
	}
	t.Mu.Unlock()
	if !kept {
		t.Unannounce(false)
		t.Base.Kind.Ways.Over(t)
	}
}
