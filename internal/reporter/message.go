package reporter

import (
	"time"

	"github.com/redlatch/redlatch/internal/registry"
)

// A Message is one report.
type Message struct {
	To      Config
	TTL     time.Duration
	Whole   bool // the entry is written anew
	Removed []Place
	Things  []Thing
}

// most is how many fields a message has at most: a script must not keep the server busy for long.
const most = 500

const (
	leastLease = 30 * time.Second
	afterLease = 10 * time.Minute // how long an entry outlasts what its client held, if that died
)

// ttl is how long the entry lasts. Readers pass over an entry that is to last for longer than LongestEntry.
func (s *Snapshot) ttl() time.Duration {
	return min(max(s.lease, leastLease)+afterLease, registry.LongestEntry)
}

// known is what the entry has, as far as is known; nil: nothing is, and it has to be written anew.
type known map[Place]sum

// messages are the reports by which an entry that has what is known gets what the snapshot has, and what is
// known then. There is at least one: it says that the client was seen.
func (k known) messages(s *Snapshot, to Config) (all []Message, next known) {
	whole := k == nil
	var (
		removed []Place
		changed []Thing
	)
	next = make(known, len(s.things))
	for _, t := range s.things {
		next[t.Place] = t.sum()
		if before, ok := k[t.Place]; !ok || before != next[t.Place] {
			changed = append(changed, t)
		}
	}
	for place := range k {
		if _, still := next[place]; !still {
			removed = append(removed, place)
		}
	}
	for first := true; first || len(removed)+len(changed) > 0; first = false {
		m := Message{To: to, TTL: s.ttl(), Whole: whole && first}
		m.Removed, removed = cut(removed, most)
		m.Things, changed = cut(changed, most-len(m.Removed))
		all = append(all, m)
	}
	return all, next
}

func cut[E any](list []E, n int) (head, tail []E) {
	n = min(n, len(list))
	return list[:n], list[n:]
}
