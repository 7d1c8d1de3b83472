package dispatch

import "time"

// A trip that takes much longer than others did is not counted: the connection may hang, or the whole server,
// or the network may have become slow. What is queued then gets another leader, up to the most that a node
// may have. Trips are not timed one by one. While something is queued the node ticks, and a trip that has
// seen two ticks is late.
//
// tickPeriod is long beside slow scripts and busy processors. Where a round trip takes as long, there are as
// many leaders as there may be anyway.
const tickPeriod = 10 * time.Millisecond

// watchLocked sees to it that the node ticks. It is called whenever something is queued.
func (n *node) watchLocked() {
	if !n.ticking {
		n.ticking = true
		time.AfterFunc(tickPeriod, n.tick)
	}
}

func (n *node) tick() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ticking = false
	n.ticks++
	n.stragglers += n.older
	n.older, n.fresh = n.fresh, 0
	n.recruitLocked()
	if n.queue.length > 0 {
		n.watchLocked()
	}
}

// A trip is a command or a pipeline that is under way.
type trip struct {
	commands int
	tick     uint64 // node.ticks when it departed
}

func (n *node) departLocked(commands int) trip {
	n.inFlight.Add(int64(commands))
	n.fresh++
	return trip{commands, n.ticks}
}

// landLocked ends a trip that took a certain time, or 0 if it says nothing about the network.
func (n *node) landLocked(t trip, took time.Duration) {
	switch n.ticks - t.tick {
	case 0:
		n.fresh--
	case 1:
		n.older--
	default:
		n.stragglers--
	}
	if took > 0 && (t.commands <= smallTrip || took < n.rtt.shortest()) {
		n.rtt.add(n.answered.Load(), took)
		n.limit = n.rtt.leaders(n.most)
	}
}
