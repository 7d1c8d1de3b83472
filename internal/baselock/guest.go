package baselock

import "github.com/redlatch/redlatch/internal/watchdog"

// Resident is the latest guest, perhaps no longer as a holder.
func (t *Tenure) Resident() *Tenure {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return t.rare.guest
}

// moveOut leaves the host's identity to the next guest, if no command of this one can be executed any more. A
// guest with an identity of its own stays: there was one before it, of which that is not known.
func (t *Tenure) moveOut() {
	if t.ID != t.Host.ID {
		return
	}
	t.Mu.Lock()
	settled := t.rare.doubt == nil
	t.Mu.Unlock()
	t.Host.Mu.Lock()
	defer t.Host.Mu.Unlock()
	if settled && t.Host.rare.guest == t {
		t.Host.rare.guest = nil
	}
}

// outlived is called when the clock has ended a tenure. A guest that is renewed keeps the key, and with it
// the field of its host. That field refuses no acquisition any longer, so it is released although its holder
// has not done so.
func (t *Tenure) outlived(reason string) {
	if reason != watchdog.NotOwned && t.Resident() != nil {
		t.Pending()
	}
}

// Admits notes that guest is about to be acquired within t.
func (t *Tenure) Admits(guest *Tenure) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.rareLocked().guest = guest
}
