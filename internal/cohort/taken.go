package cohort

import (
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// taken is when this process took anything away from its holders last, a watchdog.Moment; 0: it never did. A
// hand-off asks about it while queues and owners are locked, so it needs no mutex. One moment stands for all
// keys: what was confirmed before it is old news for each of them, and costs each one script at most.
type taken struct{ latest atomic.Int64 }

// Take notes that this process takes something away from its holders.
func (t *taken) Take() { t.latest.Store(int64(watchdog.MomentOf(clock.Now()))) }

// Taken tells whether this process has taken anything away since news.
func (t *taken) Taken(news time.Time) bool {
	latest := t.latest.Load()
	return latest != 0 && int64(watchdog.MomentOf(news)) <= latest
}
