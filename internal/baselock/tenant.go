package baselock

import (
	"iter"
	"time"

	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A tenant has a tenure: it is a first hold and its re-entries. The first tenant got it from Redis, the
// others by a move from the tenant before; see move.go. What the program asks of a hold is its tenant's, so
// that it does not change with what becomes of the tenure afterwards.
//
// A tenant of which no hold is left has the tenure no more, and gets none again. So the field in Redis is
// another tenant's perhaps. Acts that may come so late compare the tenant with the latest of the tenure, under
// its mutex, and do nothing for another one.
type tenant struct {
	tenure *tenure
	set    *settings.Settings // of the first acquisition
	first  hold

	// The rest is guarded by the mutex of the tenure.

	inner  *[]*hold        // nil, or those of re-entries that are not given back
	token  int64           // the newest that it was issued
	until  watchdog.Moment // 0, or to when the tenure was trusted when the next tenant got it
	live   int32           // holds handed out and not given back
	kept   bool            // its program has given it back, and WithAtLeast keeps it
	offers bool            // its release asks whether outsiders wait; see [Offer]
}

// holdsLocked are the holds that were not given back.
func (c *tenant) holdsLocked() iter.Seq[*hold] {
	return func(yield func(*hold) bool) {
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

func (c *tenant) addLocked(h *hold) {
	if c.inner == nil {
		c.inner = new([]*hold)
	}
	*c.inner = append(*c.inner, h)
}

// countedLocked is how many holds Redis is to count.
func (c *tenant) countedLocked() int32 { return c.tenure.shared.Counted(c.live) }

// holds tells whether the tenant has live holds.
func (c *tenant) holds() bool {
	c.tenure.mu.Lock()
	defer c.tenure.mu.Unlock()
	return c.live > 0 && c.tenure.lostLocked() == nil
}

// end is zero, or where WithMaxHold ends the tenant.
func (c *tenant) end() time.Time {
	return c.first.EndsAfter(c.set.MaxHold)
}

// adjust stops the extending of the lease when the last hold that needs it was given back or dropped or is
// over, and all looking after the tenure when every hold that is left was dropped or is over, unless it has a
// guest. It may come when another tenant has the tenure.
func (c *tenant) adjust() {
	t := c.tenure
	t.mu.Lock()
	if t.tenant != c {
		t.mu.Unlock()
		return
	}
	// A guest keeps the key, and with it the field of its host. So the watchdog goes on looking after the
	// host's lease.
	kept, renewing := t.rare.guest != nil, false
	for h := range c.holdsLocked() {
		if !h.dropped && !h.over {
			kept, renewing = true, renewing || h.renewed
		}
	}
	changed := renewing != t.renewing
	t.renewing = renewing
	switch {
	case !kept:
		t.forgetLocked()
	case changed:
		t.agreeLocked(t.entry.TrustedUntil())
	}
	t.mu.Unlock()
	if !kept {
		t.unannounce(false)
		t.base.Kind.Ways.Over(t)
	}
}
