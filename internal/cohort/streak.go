package cohort

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
)

// A Streak is hand-offs within one process without a release in between. It has two clocks. The one that
// starts when the streak begins is for other processes: it ends the streak. The one that starts with the
// latest news is for safety: a hand-off without a command, and the Unlock that goes with it, rest on what
// Redis has confirmed before. A command that confirms it starts that one anew.
//
//	         Began                        Over: released, or handed to another process
//	none ────────────► Fresh: local hand-offs ──────────────────────────────────────► none
//	                     │            ▲
//	     the news is old │            │ a script hands off, and brings news
//	                     └────────────┘
type Streak struct {
	Began time.Time
	News  time.Time     // when Redis was asked for what it confirmed last, read before the send
	Blur  time.Duration // not 0: News is what another process tells; see Blurred
	Trip  time.Duration // a round trip

	Alone bool // it began with the thing free, although others had had the time to take it
	// since when no outsider could have got the thing before the streak began; zero: the thing was free
	ClosedSince time.Time

	Given   int // hand-offs
	Scripts int // hand-offs by a script, which Given counts too
}

// Half as many scripts in a row halve the time for which others wait, and cost a few hundredths of the speed.
// So it is half as many unless no other process seems to be there. Local hand-offs are bounded by time alone.
// Where two round trips take longer than that time the streak lasts as long as they do: it begins with a
// question, whose answer is a round trip old.
const (
	longestStreak = 2 * time.Millisecond
	longestAlone  = 10 * time.Millisecond
	longestTrip   = 50 * time.Millisecond
	mostScripts   = 32
	mostAlone     = 64
)

// Blurred is the Blur of news from another process. It tells the time of its command in whole milliseconds of
// the server's clock, which this process knows to a round trip: so much too early News may be, and a
// millisecond for the message.
const Blurred = 2 * time.Millisecond

// Over tells whether it is the turn of other processes.
func (s *Streak) Over(now time.Time) bool {
	most := mostScripts
	if s.Alone {
		most = mostAlone
	}
	return s.Scripts >= most || now.Sub(clock.Aged(s.Began)) >= s.longest()
}

// End is when the streak is over at the latest.
func (s *Streak) End() time.Time { return clock.Aged(s.Began).Add(s.longest()) }

func (s *Streak) longest() time.Duration {
	longest := longestStreak
	if s.Alone {
		longest = longestAlone
	}
	return max(longest, 2*s.trip())
}

func (s *Streak) trip() time.Duration { return min(s.Trip, longestTrip) }

// Fresh tells whether the news is young enough for a hand-off without a command, as far as its age can tell.
func (s *Streak) Fresh(now time.Time) bool { return s.FreshFor(now) >= 0 }

// FreshFor is for how much longer the news is fresh. Redis may have confirmed the thing as soon as it was
// asked, so the way of the answer is no reason to believe it for longer: guarantees.md says for how long a
// lock that was deleted may be handed on.
func (s *Streak) FreshFor(now time.Time) time.Duration {
	longest := s.longest()
	if s.Blur > 0 {
		longest += s.trip() + s.Blur
	}
	return longest - now.Sub(clock.Aged(s.News))
}

// Confirmed notes that a command sent at news has confirmed that this process has the thing.
func (s *Streak) Confirmed(news time.Time) { s.News, s.Blur = news, 0 }

// Shut is since when no outsider could have got the thing.
func (s *Streak) Shut() time.Time {
	if s.ClosedSince.IsZero() {
		return s.Began
	}
	return s.ClosedSince
}
