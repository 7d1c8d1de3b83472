package session

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// lanes lends the lanes of all counters of a session. A lane is lent to one operation at a time, and comes
// back when that operation is settled. Sequence numbers ascend over the whole session, so a lane may be
// forgotten and made anew while the server still remembers its last operation.
type lanes struct {
	opened time.Time

	mu       lockorder.Mutex[lockorder.Lanes]
	sequence int64               // the latest
	running  time.Duration       // when its round began, counted from opened by the monotonic clock
	shown    time.Duration       // the same by the clock that shows the time of day
	lent     map[string]*lending // by the key of the counter
	// The latest that was forgotten: a counter that has one operation at a time needs it next
	spare *lending
}

// A lending is the lanes of one counter.
type lending struct {
	key   string
	lanes string // the key of the lanes
	busy  []bool // which of them are lent
}

// BorrowLane lends a lane of the counter at key, with the number for its first operation.
func (s *Session) BorrowLane(key string) lane.Call {
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	l := s.lanes.lendingLocked(key, s.ID)
	free := slices.Index(l.busy, false)
	if free < 0 {
		free = len(l.busy)
		l.busy = append(l.busy, false)
	}
	l.busy[free] = true
	return lane.Call{Key: l.lanes, Lane: int64(free), Seq: s.lanes.nextLocked()}
}

func (l *lanes) lendingLocked(key, session string) *lending {
	if lent := l.lent[key]; lent != nil {
		return lent
	}
	lent := l.spare
	if lent == nil || lent.key != key {
		lent = &lending{key: key, lanes: keys.Lanes(key, session)}
	}
	l.spare = nil
	if l.lent == nil {
		l.lent = map[string]*lending{}
	}
	l.lent[key] = lent
	return lent
}

// nextLocked is the next number, of the present round as a rule; after more operations than a round has
// numbers for, of a later one. Numbers go up by two: the number between two operations is for settling the
// former one, if that is needed.
func (l *lanes) nextLocked() int64 {
	now := time.Now()
	if l.roundOver(now.Sub(l.opened), now.Round(0).Sub(l.opened.Round(0))) {
		l.sequence = (l.sequence/lane.Round + 1) * lane.Round
	} else {
		l.sequence += 2
	}
	return l.sequence
}

// roundOver tells whether the present round began half a minute ago, by one of two clocks, and begins the
// next one then. One clock stands still while the machine sleeps. The other may be set, forward too and then
// back again.
func (l *lanes) roundOver(running, shown time.Duration) bool {
	if max(running-l.running, shown-l.shown) < 30*time.Second {
		return false
	}
	l.running, l.shown = running, shown
	return true
}

// ReturnLane takes back a lane whose last operation is settled.
func (s *Session) ReturnLane(key string, call lane.Call) {
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	lent := s.lanes.lent[key]
	lent.busy[call.Lane] = false
	if slices.Contains(lent.busy, true) {
		return
	}
	delete(s.lanes.lent, key)
	s.lanes.spare = lent
}
