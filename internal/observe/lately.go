package observe

import (
	"maps"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lockorder"
)

// pause is how long after one alarm of a topic the next one comes.
const pause = time.Minute

// most is how many alarms of a source are whole in a minute. The others are brief: they ask nothing and have
// no line of their own.
const most = 10

// A source is what has a bound of its own. Two clients may have different things of one name.
type source struct {
	kind   redlatch.EventKind
	client any // the ID of a session; or [Subject.Itself], where that belongs to no client
}

// A topic is what alarms are about.
type topic struct {
	source
	primitive redlatch.Kind
	name      string
}

// lately has when each topic of the process had its last alarm.
var lately recent

// A recent keeps what was noted within the last pause, and what it has not swept out yet.
type recent struct {
	mu      lockorder.Mutex[lockorder.Lately]
	at      map[topic]time.Time
	minutes map[source]*minute // the latest of each
	prune   int                // length at which the others are swept out
}

// A minute counts the alarms of a source. It begins with the first of them and lasts for a pause, so each
// topic is told of once in it at most.
type minute struct {
	began  time.Time
	alarms int
	closes bool // at its end the brief ones are told of
}

// turn notes that a topic has its alarm now, and whether it is whole. If the topic has had one just now, turn
// answers after how long the next is due. At the end of a minute with brief alarms closed is called with how
// many, unless it is nil for all of them.
func (r *recent) turn(t topic, closed func(brief int)) (left time.Duration, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now() // with the mutex: what closes a minute comes after all that count in it
	if last, ok := r.at[t]; ok && now.Sub(last) < pause {
		return pause - now.Sub(last), false
	}
	r.sweep(now)
	r.at[t] = now
	m := r.minutes[t.source]
	if m == nil || now.Sub(m.began) >= pause {
		m = &minute{began: now}
		r.minutes[t.source] = m
	}
	m.alarms++
	if m.alarms <= most {
		return 0, true
	}
	if closed != nil && !m.closes {
		m.closes = true
		time.AfterFunc(pause-now.Sub(m.began), func() { closed(r.brief(m)) })
	}
	return 0, false
}

// brief is how many alarms of a minute were brief.
func (r *recent) brief(m *minute) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return m.alarms - most
}

// forget has a topic be as if it had had no alarm, for nothing was told. That the alarm was whole stays
// counted.
func (r *recent) forget(t topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at, t)
}

// sweep drops what is over, when there is twice as much as the last time.
func (r *recent) sweep(now time.Time) {
	if r.at == nil {
		r.at, r.minutes = map[topic]time.Time{}, map[source]*minute{}
	}
	if len(r.at)+len(r.minutes) < max(r.prune, 128) {
		return
	}
	maps.DeleteFunc(r.at, func(_ topic, last time.Time) bool { return now.Sub(last) >= pause })
	maps.DeleteFunc(r.minutes, func(_ source, m *minute) bool { return now.Sub(m.began) >= pause })
	r.prune = 2 * (len(r.at) + len(r.minutes))
}
