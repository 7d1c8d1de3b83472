package baselock

// countedLocked is how many holds Redis is to count.
func (c *Tenant) countedLocked() int32 { return c.Tenure.Shared.Counted(c.Live) }

// Holds tells whether the tenant has live holds.
func (c *Tenant) Holds() bool {
	c.Tenure.Mu.Lock()
	defer c.Tenure.Mu.Unlock()
	return c.Live > 0 && c.Tenure.LostLocked() == nil
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
