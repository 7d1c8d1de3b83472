package parallel_test

import (
	"runtime"
	"time"
)

// A section is what a lock guards. Its fields are plain variables: two goroutines at once are a data race.
type section struct {
	world  *world
	inside int // number of the goroutine that is alone in it; 0: none
	visits int
	token  int64 // the greatest that a holder has had
}

// visit is what a holder does.
func (s *section) visit(g *goroutine, shared bool) {
	if s.world.mode == forced { // there may be others
		g.linger()
		return
	}
	if other := s.inside; other != 0 {
		s.world.complain("goroutine %d is inside, and so is %d, who reads: %t", other, g.number, shared)
	}
	if shared {
		visits := s.visits
		g.linger()
		if now := s.visits; now != visits {
			s.world.complain("somebody wrote while goroutine %d was reading", g.number)
		}
		return
	}
	s.inside = g.number
	s.visits++
	g.linger()
	if other := s.inside; other != g.number {
		s.world.complain("goroutine %d came in while %d was inside", other, g.number)
	}
	s.inside = 0
}

// linger takes a moment, mostly a short one.
func (g *goroutine) linger() {
	if g.rushes {
		return
	}
	switch g.dice.IntN(50) {
	case 0:
		time.Sleep(g.up(1500 * time.Microsecond))
	case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
		runtime.Gosched()
	}
}
