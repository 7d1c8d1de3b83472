package baselock

import "github.com/redlatch/redlatch/internal/watchdog"

// resident is the latest guest, perhaps no longer as a holder.
func (t *tenure) resident() *tenure {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rare.guest
}

// moveOut leaves the host's identity to the next guest, if no command of this one can be executed any more. A
// guest with an identity of its own stays: there was one before it, of which that is not known.
func (t *tenure) moveOut() {
	if t.host == nil || t.id != t.host.id {
		return
	}
	t.mu.Lock()
	settled := t.rare.doubt == nil
	t.mu.Unlock()
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	if settled && t.host.rare.guest == t {
		t.host.rare.guest = nil
	}
}

// outlived is called when the clock has ended a tenure. A guest that is renewed keeps the key, and with it
// the field of its host. That field refuses no acquisition any longer, so it is released although its holder
// has not done so.
func (t *tenure) outlived(reason string) {
	if reason != watchdog.NotOwned && t.resident() != nil {
		t.pending()
	}
}
