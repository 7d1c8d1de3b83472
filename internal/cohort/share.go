package cohort

// A Share is how far something is that several holders of one process hold as one: the first of them asked
// for it, and others join it and leave it without a command.
//
//	        Granted           Drain               Close, also of what is open
//	asked ───────────► open ─────────► draining ────────────────────────────► closed
//	                   │  ▲│             │  ▲│                                  │  ▲│
//	                   │  └┘ Join, Leave │  └┘ Leave                            │  └┘ Leave
//	                   │                 │                                      │
//	                   └───── Last ──────┴───────────────── Last ───────────────┴──► releasing: the last holder has left,
//	                                                                                 and no call joins any more
//
// A re-entry changes nothing here, and is possible until the last holder leaves. What is left to others when
// the last holder leaves drains. What is lost, in doubt, or may stay until its lease is over is closed: to
// wait for its holders is of no use.
//
// Redis counts the holders less those that joined, and so at least one while there is any. Which of them it
// counts does not matter: the first one may leave before the ones that joined it, and then one of these
// counts in its place. So a holder leaves without a command as long as there are more holders than Redis
// counts.
//
// The zero value is asked. What the Share belongs to guards it, together with the number of the holders.
type Share struct {
	phase  phase
	joined int32
}

// A phase is how far a Share is.
type phase uint8

const (
	asked phase = iota
	open
	draining
	closed
	releasing
)

// Granted opens the Share: the first holder holds, and other calls may join it.
func (s *Share) Granted() { s.phase = open }

// Asked tells whether the question of the first holder has no answer yet.
func (s Share) Asked() bool { return s.phase == asked }

// Open tells whether a holder may join.
func (s *Share) Open() bool { return s.phase == open }

// Closed tells whether there are holders, and no call may join them any more.
func (s *Share) Closed() bool { return s.phase == draining || s.phase == closed }

// Drains tells whether it is left to others when its holders have left.
func (s *Share) Drains() bool { return s.phase == draining }

// Join adds a holder without a command, if the Share is open. Redis does not count this holder.
func (s *Share) Join() bool {
	if s.phase != open {
		return false
	}
	s.joined++
	return true
}

// Drain admits no further holders, so that other processes get the lock when the holders have left.
func (s *Share) Drain() {
	if s.phase == open {
		s.phase = draining
	}
}

// Close admits no further holders.
func (s *Share) Close() {
	if s.phase == open || s.phase == draining {
		s.phase = closed
	}
}

// Leave takes out a holder without a command, and reports whether it could. It can while there are more
// holders than Redis counts. When Redis counts each of the holders, a command has to lower the count.
func (s *Share) Leave() bool {
	if s.joined == 0 {
		return false
	}
	s.joined--
	return true
}

// Counted is how many of the holders Redis counts.
func (s *Share) Counted(holders int32) int32 { return holders - s.joined }

// Last notes that no holder is left.
func (s *Share) Last() { s.phase = releasing }

// Over tells whether the last holder has left.
func (s Share) Over() bool { return s.phase == releasing }
