package observe

import (
	"maps"
	"sync"
	"time"
)

// pause is how long after one alarm of a topic the next one comes.
const pause = time.Minute

// A topic is what alarms are about. Two clients may have different things of one name.
type topic struct {
	kind                    int // of the event
	client, primitive, name string
}

// lately has when each topic of the process had its last alarm.
var lately recent

// A recent keeps what was noted within the last pause, and what it has not swept out yet.
type recent struct {
	mu    sync.Mutex
	at    map[topic]time.Time
	prune int // length at which the others are swept out
}

// turn notes that a topic has its alarm now, and answers 0. If it has had one just now, turn answers after how long the next is due.
func (r *recent) turn(t topic, now time.Time) (left time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.at[t]; ok && now.Sub(last) < pause {
		return pause - now.Sub(last)
	}
	if len(r.at) >= max(r.prune, 64) {
		maps.DeleteFunc(r.at, func(_ topic, last time.Time) bool { return now.Sub(last) >= pause })
		r.prune = 2 * len(r.at)
	}
	if r.at == nil {
		r.at = map[topic]time.Time{}
	}
	r.at[t] = now
	return 0
}
