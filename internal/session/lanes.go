package session

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// lanes lends the lanes of all counters of a session. A lane is lent to one operation at a time, and comes
// back when that operation is settled. Sequence numbers ascend over the whole session, so a lane may be
// forgotten and made anew while the server still remembers its last operation.
type lanes struct {
	mu       lockorder.Mutex[lockorder.Lanes]
	sequence int64               // the latest
	began    time.Time           // when its round began
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
	now := clock.Now()
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	l := s.lanes.lendingLocked(key, s.ID)
	free := slices.Index(l.busy, false)
	if free < 0 {
		free = len(l.busy)
		l.busy = append(l.busy, false)
	}
	l.busy[free] = true
	return lane.Call{Key: l.lanes, Lane: int64(free), Seq: s.lanes.nextLocked(now)}
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

// nextLocked is the next number. After half a minute, in which the system may have been suspended, it is of
// the next round. Numbers go up by two: the number between two operations is for settling the former one, if
// that is needed.
func (l *lanes) nextLocked(now time.Time) int64 {
	if now.Sub(clock.Aged(l.began)) < 30*time.Second {
		l.sequence += 2
		return l.sequence
	}
	l.began = now
	l.sequence = (l.sequence/lane.Round + 1) * lane.Round
	return l.sequence
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
