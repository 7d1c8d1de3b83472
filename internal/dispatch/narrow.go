package dispatch

import (
	"sync"
	"sync/atomic"
	"time"
)

// Some scripts have keys that they can do without. They are sent without these while a slot moves of which
// the server has only some of the keys, and for a user who has no right to all of them.

// narrowFor is for how long a script is not tried with all of its keys after the server has said that the
// user has no right to one: rights change seldom, and each try costs a round trip.
const narrowFor = time.Minute

// tellEvery is how often at most a program is told that scripts are sent with fewer keys.
const tellEvery = time.Hour

// A narrowing is what is known about scripts that are sent without some of their keys. The zero value knows
// nothing.
type narrowing struct {
	told  atomic.Int64
	some  atomic.Bool // until has entries
	until sync.Map    // script -> time.Time
}

// Narrow tells whether a script is to be sent without the keys that it can do without.
func (d *Dispatcher) Narrow(script any) bool {
	if !d.narrow.some.Load() {
		return false
	}
	until, ok := d.narrow.until.Load(script)
	return ok && time.Now().Before(until.(time.Time))
}

// Narrowed is told why a script is sent without these keys, and whether that will be so for a while.
func (d *Dispatcher) Narrowed(script any, err error, lasting bool) {
	n, now := &d.narrow, time.Now()
	if lasting {
		n.until.Store(script, now.Add(narrowFor))
		n.some.Store(true)
	}
	told := n.told.Load()
	if d.OnNarrow != nil && (told == 0 || now.UnixNano()-told > int64(tellEvery)) &&
		n.told.CompareAndSwap(told, now.UnixNano()) {
		d.OnNarrow(err)
	}
}
