package cohort

import (
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/watchdog"
)

// attendEvery is how often a process asks, at releases of readers, whether outsiders wait: often enough for
// them, and so seldom that it costs nothing.
const attendEvery = 100 * time.Millisecond

// attended is when that was last asked, a watchdog.Moment, by the hashes of keys. Of keys that share an
// element one is asked about at a time.
type attended [64]atomic.Int64

// Attends tells whether the release of a share of key is to ask whether outsiders wait.
func (a *attended) Attends(key Key) bool {
	last := &a[key.hash%hash(len(a))]
	before, now := last.Load(), int64(watchdog.MomentOf(time.Now()))
	return (before == 0 || now-before >= int64(attendEvery)) && last.CompareAndSwap(before, now)
}
