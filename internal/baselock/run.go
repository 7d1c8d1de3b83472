package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
)

// A run is hand-overs without a release in between. It has two clocks. The one that starts when the run begins is for other
// processes: it ends the run. The one that starts with the latest news is for safety: a hand-over without a command, and
// the Unlock that goes with it, rest on what Redis has confirmed before. A script that confirms it starts that one anew.
type run struct {
	began time.Time
	count int  // of the hand-overs by script
	given int  // of all
	alone bool // it began with the lock free, although others had had the time to take it

	news time.Time // before Redis was asked for what it confirmed last
	trip time.Duration

	shut time.Time // since when nobody who sits in no row could have got it by then; zero: it was free
}

// newRun completes a run that begins.
func (b *Base) newRun(r run) *run {
	r.trip = min(b.Session.Dispatch.Trip(b.Key), longestTrip)
	return &r
}

// Half as many hand-overs by script in a row halve the time for which others wait, and cost a few hundredths of the speed.
// So it is half as many unless nobody else seems to be there. Those without a command are bounded by time alone. Where two
// round trips take longer than that time, the run lasts as long as they do: the answer with which it begins is a round trip
// old.
const (
	longestRun   = 2 * time.Millisecond
	longestAlone = 10 * time.Millisecond
	longestTrip  = 50 * time.Millisecond
	mostInARow   = 32
	mostAlone    = 64
)

// over tells whether it is somebody else's turn. Where each hand-over is a round trip, 2 ms would be over after one.
func (r *run) over(scripted bool) bool {
	most := mostInARow
	if r.alone {
		most = mostAlone
	}
	return r.count >= most || time.Since(r.began) >= r.longest(scripted)
}

func (r *run) longest(scripted bool) time.Duration {
	longest := longestRun
	if scripted || r.alone {
		longest = longestAlone
	}
	return max(longest, 2*r.trip)
}

// clockStep is by how much the moment of a pass may lie before the pass: the server's clock is told in milliseconds.
const clockStep = 2 * time.Millisecond

// fresh tells whether the lock may be handed on without a command, as far as it is known that Redis still names this
// owner. A message on the lock's channel ends that, for it may be that of a force-unlock. Where no message tells, as of a
// deletion, or of anything that happens to a lock without a channel, the age of the news does: no more than the longest run
// and a round trip.
func (o *owner) fresh(line *cohort.Cohort) bool {
	r := o.run
	return clock.Now().Sub(r.news) <= r.longest(false)+r.trip+clockStep && (o.base.channel == "" || line.Current(r.news))
}

// shutSince is since when nobody who sits in no row could have got the lock that o has.
func (o *owner) shutSince() time.Time {
	switch {
	case o.run == nil:
		return time.Time{}
	case o.run.shut.IsZero():
		return o.run.began
	}
	return o.run.shut
}
