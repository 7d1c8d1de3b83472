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
//	                                                                                 and nobody comes any more
//
// A re-entry changes nothing here, and is possible until the last holder leaves. What is left to others when
// the last holder leaves drains. What is lost, in doubt, or may stay until its lease is over is closed: to
// wait for its holders is of no use.
//
// Redis counts the holders less those that joined, and so at least one while there is any. Which of them it
// counts does not matter: the first one may leave before those that joined it, and then one of these counts
// in its place. So a holder leaves without a command as long as there are more holders than Redis counts.
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

// Granted opens it to others.
func (s *Share) Granted() { s.phase = open }

// Asked tells whether it is not known yet whether there is anything to share.
func (s *Share) Asked() bool { return s.phase == asked }

// Open tells whether a holder may join.
func (s *Share) Open() bool { return s.phase == open }

// Closed tells whether there are holders that nobody may join any more.
func (s *Share) Closed() bool { return s.phase == draining || s.phase == closed }

// Drains tells whether it is left to others when its holders have left.
func (s *Share) Drains() bool { return s.phase == draining }

// Join adds a holder of which Redis does not hear, if it is open.
func (s *Share) Join() bool {
	if s.phase != open {
		return false
	}
	s.joined++
	return true
}

// Drain admits no others any more, for the sake of those outside.
func (s *Share) Drain() {
	if s.phase == open {
		s.phase = draining
	}
}

// Close admits no others any more.
func (s *Share) Close() {
	if s.phase == open || s.phase == draining {
		s.phase = closed
	}
}

// Leave takes out a holder of which Redis need not hear. It fails if Redis counts each holder that is left.
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
func (s *Share) Over() bool { return s.phase == releasing }
