package session

import (
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/waiting"
)

// A Seat is what a line knows of its place in the row of processes that wait, in Redis.
type Seat struct {
	mu      sync.Mutex
	current *Sitter // nil: there is none
	unused  bool    // nobody uses the line any more: who sat down now would not be settled
}

// A Sitter is an owner that is to hold when a release passes the lock to this process, or when it asks and the lock is
// free. It sits down when it asks in vain, or by the release of one before it in line. Both may be under way at once.
//
//	         ask, or a release                     the lock comes
//	none ───────────────────────► sits, perhaps ────────────────► holds: it is somebody's, and no sitter any more
//	                                    │
//	                                    └── nobody waits, or nobody knows what became of it ──► over: to be taken out of
//	                                                                                            the row, and to release
//
// The lock may come by a message or as the answer to an ask, but must not come twice: while an ask is under way the
// message is not believed, for the answer, or that to the next ask, says the same. And what holds must not be taken for
// over by the other command: that is why an end of one that does not know says so to the one that is still under way.
type Sitter struct {
	Owner string

	// Guarded by Seat.mu.
	sits    bool      // it may be in the row
	sent    time.Time // a moment before the server's clock was at
	at      int64     // in milliseconds; 0: sent is a moment before it sat down
	asking  bool
	sitting bool      // a release that has it sit down is under way
	since   time.Time // and was not sent before then
	doubt   bool      // and another one, that nobody waits for any more, may be executed late
	holds   bool
	over    bool
}

// Ask returns the sitter as whom to ask. Refused, Unsent, Won or Failed must follow.
func (s *Seat) Ask(mint func() string) *Sitter {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.currentLocked(mint)
	p.asking = true
	return p
}

// Owner is the sitter's, or empty if there is none.
func (s *Seat) Owner() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return ""
	}
	return s.current.Owner
}

func (s *Seat) currentLocked(mint func() string) *Sitter {
	if s.current == nil {
		s.current = &Sitter{Owner: mint()}
	}
	return s.current
}

// Refused ends an ask that was sent then, in vain. The server's clock was at; 0 says that the sitter did not sit down,
// though it may sit since it could.
func (s *Seat) Refused(p *Sitter, sent time.Time, at int64) (settle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.asking = false
	if at > 0 {
		p.sits, p.sent, p.at = true, sent, at
	}
	return p.settleLocked()
}

// Unsent ends an ask that was not executed.
func (s *Seat) Unsent(p *Sitter) (settle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.asking = false
	return p.settleLocked()
}

// Won ends an ask that brought the lock.
func (s *Seat) Won(p *Sitter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.asking = false
	s.wonLocked(p)
}

func (s *Seat) wonLocked(p *Sitter) {
	p.holds = true
	s.dropLocked(p)
}

func (s *Seat) dropLocked(p *Sitter) {
	if s.current == p {
		s.current = nil
	}
}

// Failed ends an ask of which nobody knows whether it was, or will be, executed. The sitter is over, and for the caller to
// settle.
func (s *Seat) Failed(p *Sitter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.asking, p.over, p.doubt = false, true, true
	s.dropLocked(p)
}

// SitDown returns the sitter whom a release has sit down, nil when nobody waits any more. Sat or Lost must follow.
func (s *Seat) SitDown(mint func() string) *Sitter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unused {
		return nil
	}
	p := s.currentLocked(mint)
	p.sitting, p.since = true, clock.Now()
	if p.sent.IsZero() { // who sits already may have been passed the lock before now, if the giver has lost it
		p.sent = p.since
	}
	return p
}

// Sat ends SitDown: by a release that was executed when the server's clock was at, 0 if that is not known, or by one that
// was not.
func (s *Seat) Sat(p *Sitter, executed bool, at int64) (settle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.sitting = false
	if executed {
		p.sits = true
		if at > p.at { // else an ask has found out later
			p.sent, p.at = p.since, at
		}
	}
	return p.settleLocked()
}

// Lost ends SitDown by a release of which nobody knows whether it was, or will be, executed.
func (s *Seat) Lost(p *Sitter) (settle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.sitting, p.doubt = false, true
	if !p.asking && !p.holds {
		p.over = true
		s.dropLocked(p)
	}
	return p.settleLocked()
}

// use is for when somebody waits again.
func (s *Seat) use() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unused = false
}

// GetUp is for a head that could not take what is passed to the sitter. It returns the sitter that has to be settled, if
// any.
func (s *Seat) GetUp() *Sitter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endLocked()
}

// leave is for when nobody waits any more. It returns the sitter that has to be settled, if any.
func (s *Seat) leave() *Sitter {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unused = true
	return s.endLocked()
}

func (s *Seat) endLocked() *Sitter {
	p := s.current
	if p == nil {
		return nil
	}
	p.over = true
	s.dropLocked(p)
	if !p.settleLocked() {
		return nil
	}
	return p
}

// settleLocked tells whether the sitter has to be taken out of the row.
func (p *Sitter) settleLocked() bool {
	return p.over && !p.holds && !p.asking && !p.sitting && (p.sits || p.doubt)
}

// Doubt tells whether a sitter that has to be settled may sit down later.
func (s *Seat) Doubt(p *Sitter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.doubt
}

// A Gift is what is to be done with a lock that was passed to an owner.
type Gift int

const (
	Ignored  Gift = iota // nothing: it is not the line's, or an ask will find out, or whoever settles gives it back
	Declined             // give it back: there are only such waiters as cannot be given it
	Claimed              // it is the claimed waiter's
)

// Given says that the lock was passed to owner when the server's clock was at. since is a moment before that.
func (l *Line) Given(owner string, at int64) (gift Gift, claim waiting.Claim, since time.Time) {
	l.Seat.mu.Lock()
	defer l.Seat.mu.Unlock()
	p := l.Seat.current
	if p == nil || p.Owner != owner {
		return Ignored, claim, since
	}
	if p.asking {
		l.Wake()
		return Ignored, claim, since
	}
	claim, ok := l.Claim()
	if !ok && l.Len() == 0 {
		l.Wake() // somebody may be about to stand in line
		return Ignored, claim, since
	}
	now := clock.Now()
	since = clock.Aged(p.sent)
	if elapsed := at - p.at - 1; p.at > 0 && elapsed > 0 { // both are whole milliseconds
		since = since.Add(time.Duration(elapsed) * time.Millisecond)
	}
	if since.After(now) { // the server's clock was set
		since = now
	}
	l.Seat.wonLocked(p)
	if !ok {
		return Declined, claim, since
	}
	return Claimed, claim, since
}
