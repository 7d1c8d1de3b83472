package dispatch

import "time"

// How many commands or pipelines may be under way at once. Each costs a write, a read and two wake-ups, some
// 20 us of processor time on both sides together, however few commands it carries. While one is under way
// another command waits to leave, for longer the longer the round trip. So a leader is worth its price where
// the round trip is long: one for each perLeader of it spends about a sixth of a processor on trips. Fewer
// than fewLeaders leave the server idle while the client reads and the client idle while the server works,
// also where both are on one machine.
const (
	fewLeaders = 4
	maxLeaders = 16
	perLeader  = 125 * time.Microsecond
)

// A minRTT is the shortest time that a round trip to a server took lately. The shortest is the network's: the
// others contain waiting for processors, and for what other callers asked.
type minRTT struct {
	turned   int64         // when the current interval began, in Unix nanoseconds
	current  time.Duration // the shortest of the current interval; 0 when there was none
	previous time.Duration // that of the one before; 0 when it is too long ago
}

const (
	rttInterval = time.Second
	smallTrip   = 8 // commands. The time of more is the server's; it says only that the network's is not longer
)

// add takes in a trip that ended at now. The intervals turn only here: while there are none but large trips,
// which are taken in when they are the shortest, what was measured in a calmer moment stays.
func (p *minRTT) add(now int64, took time.Duration) {
	if since := time.Duration(now - p.turned); since >= rttInterval || since < 0 { // a clock can be set back
		p.previous = p.current
		if since >= 2*rttInterval {
			p.previous = 0
		}
		p.current, p.turned = 0, now
	}
	if p.current == 0 || took < p.current {
		p.current = took
	}
}

// shortest is 0 before the first trip.
func (p *minRTT) shortest() time.Duration {
	if p.previous == 0 {
		return p.current
	}
	return min(p.previous, p.current)
}

// leaders is how many there may be, up to most.
func (p *minRTT) leaders(most int) int {
	return min(max(int(p.shortest()/perLeader), fewLeaders), most)
}
