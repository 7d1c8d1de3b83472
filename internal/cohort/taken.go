package cohort

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/lockorder"
)

// takings are the locks that this process took away from their holders lately. A hand-off asks about them
// while queues and owners are locked, so they have a mutex of their own, under which no other one is taken.
type takings struct {
	any atomic.Bool // at has elements; spares most hand-offs the mutex

	mu     lockorder.Mutex[lockorder.Takings]
	at     map[string]time.Time // by key in Redis
	latest time.Time
}

// takenFor is for how long a taking is remembered. By then all news is old.
const takenFor = time.Minute

// Take notes that this process takes key away from its holders, of whatever kind their locks are.
func (r *Registry) Take(key Key) {
	t, now := &r.taken, clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[string]time.Time{}
	}
	maps.DeleteFunc(t.at, func(_ string, at time.Time) bool { return now.Sub(at) > takenFor })
	t.at[key.key], t.latest = now, now
	t.any.Store(true)
}

// Taken tells whether this process has taken key away since news.
func (r *Registry) Taken(key Key, news time.Time) bool {
	t := &r.taken
	if !t.any.Load() {
		return false
	}
	now := clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.latest) > takenFor {
		clear(t.at)
		t.any.Store(false)
	}
	at, taken := t.at[key.key]
	return taken && !news.After(at)
}
