package cohort

import (
	"math"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// never is the void of a cohort of which it is not known yet that its messages arrive.
const never = math.MaxInt64

// Void makes old news of everything that the server has confirmed so far. It is called when a message says that the lock
// was given back or taken away, when messages may have been missed, and when this process is about to take the lock away.
func (c *Cohort) Void() { c.void.Store(int64(watchdog.MomentOf(clock.Now()))) }

// Current tells whether the answer to a command that was sent at news may still be relied on, as far as messages tell: they
// arrive, and none has come since. The first call after the subscription stands says no, because messages that were sent
// before the subscription were not heard.
func (c *Cohort) Current(news time.Time) bool {
	if !c.Hears() {
		return false
	}
	if c.void.CompareAndSwap(never, int64(watchdog.MomentOf(clock.Now()))-1) { // what is sent from now on is heard
		return false
	}
	return int64(watchdog.MomentOf(news)) > c.void.Load()
}
