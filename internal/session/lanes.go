package session

import (
	"sync"
	"sync/atomic"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// lanes lends the lanes of all counters of a session. A lane is lent to one operation at a time, and comes back when
// that operation is settled. Sequence numbers ascend over the whole session, so a lane may be forgotten and made anew
// while the server still remembers its last operation.
type lanes struct {
	sequence atomic.Int64

	mu   sync.Mutex
	lent map[string][]bool // key of the counter -> which of its lanes are lent
}

// BorrowLane lends a lane of the counter at key, with the number for its first operation.
func (s *Session) BorrowLane(key string) lane.Call {
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	if s.lanes.lent == nil {
		s.lanes.lent = map[string][]bool{}
	}
	lent := s.lanes.lent[key]
	free := 0
	for free < len(lent) && lent[free] {
		free++
	}
	if free == len(lent) {
		lent = append(lent, true)
		s.lanes.lent[key] = lent
	} else {
		lent[free] = true
	}
	// Numbers go up by two: the one between is that of the operation which settles this one, if it comes to that.
	return lane.Call{Key: keys.Lanes(key, s.ID), Lane: int64(free), Seq: s.lanes.sequence.Add(2)}
}

// ReturnLane takes back a lane whose last operation is settled.
func (s *Session) ReturnLane(key string, call lane.Call) {
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	lent := s.lanes.lent[key]
	lent[call.Lane] = false
	for _, busy := range lent {
		if busy {
			return
		}
	}
	delete(s.lanes.lent, key)
}
