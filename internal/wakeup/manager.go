package wakeup

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/raise"
)

const (
	// sweepGap keeps sweeps apart, so that thousands of channels that expire one after the other leave in a few
	// UNSUBSCRIBEs.
	sweepGap = 20 * time.Millisecond

	// suspectGap keeps rebuilding on suspicion apart: every failing command of the process may call Suspect.
	suspectGap = time.Second

	// closedLimit is how many ErrClosed in a row mean that a cluster client is closed. It also closes the client
	// of a node that left the cluster, and hands that one out until it has reloaded.
	closedLimit = 4
)

// A step is one pass of the manager over the state. What must not happen under the mutex is collected in it.
type step struct {
	now   time.Time
	next  time.Time // the earliest deadline; zero: none
	wakes []func()
	lost  []error // why connections were given up, of which the log has nothing yet
}

// at plans the next step for no later than when.
func (t *step) at(when time.Time) {
	if t.next.IsZero() || when.Before(t.next) {
		t.next = when
	}
}

// run is the manager. It lives from the first Listen until nothing is subscribed and every other goroutine of
// the hub has ended, and then leaves the hub as new. It never touches the network.
func (h *Hub) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		t := step{now: time.Now()}
		h.mu.Lock()
		stop := h.stepLocked(&t)
		h.mu.Unlock()
		for _, wake := range t.wakes {
			wake()
		}
		for _, lost := range t.lost {
			h.cfg.Logger.Warn("redlatch: pub/sub connection lost, waiters poll until it is back", "error", lost)
		}
		if stop {
			return
		}
		if t.next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(t.next))
		}
		select {
		case <-h.kick:
		case <-timer.C:
		}
	}
}

// stepLocked does everything that is due and reports whether the manager ends.
func (h *Hub) stepLocked(t *step) (stop bool) {
	h.sweepLocked(t)
	h.rebuildSuspectsLocked(t)
	for _, s := range h.shards {
		s.checkLocked(t)
	}
	h.assignLocked(t)
	for _, s := range h.shards {
		s.advanceLocked(t)
	}
	if h.live > 0 || !h.halted && len(h.channels) > 0 {
		return false
	}
	h.running, h.suspected = false, false
	if len(h.channels) == 0 {
		h.unassigned = nil // those that were forgotten before they had a shard
	}
	return true
}

// sweepLocked forgets the channels whose linger is over.
func (h *Hub) sweepLocked(t *step) {
	if h.sweepAt.IsZero() {
		return
	}
	due := h.sweepAt
	if earliest := h.sweptAt.Add(sweepGap); due.Before(earliest) {
		due = earliest
	}
	if t.now.Before(due) {
		t.at(due)
		return
	}
	h.sweptAt, h.sweepAt = t.now, time.Time{}
	for ch := range h.idle {
		switch {
		case !t.now.Before(ch.expires):
			h.forgetLocked(ch)
		case h.sweepAt.IsZero() || ch.expires.Before(h.sweepAt):
			h.sweepAt = ch.expires
		}
	}
	if !h.sweepAt.IsZero() {
		t.at(h.sweepAt)
	}
}

// forgetLocked drops a channel without listeners. An unsubscription goes out if its connection survives it.
func (h *Hub) forgetLocked(ch *channel) {
	ch.gone = true
	delete(h.channels, ch.name)
	delete(h.idle, ch)
	if s := ch.shard; s != nil {
		delete(s.channels, ch)
		if ch.sent {
			s.drop = append(s.drop, ch)
		}
	}
}

// rebuildSuspectsLocked takes down the connections that were begun before the latest suspicion. One that is
// still being opened is let finish first: callers that fail every second must not keep a slow dial from ever
// succeeding.
func (h *Hub) rebuildSuspectsLocked(t *step) {
	if !h.suspected {
		return
	}
	if due := h.rebuiltAt.Add(suspectGap); t.now.Before(due) {
		t.at(due)
		return
	}
	h.suspected = false
	for _, s := range h.shards {
		switch {
		case s.conn == nil || s.conn.began.After(h.suspectedAt):
		case !s.conn.opened:
			h.suspected = true // its opening pokes the manager
		default:
			h.rebuiltAt = t.now
			s.retry.Reset()
			s.loseLocked(t, nil)
		}
	}
}

// sawLocked judges an error of the client: after a closed client everything stops.
func (h *Hub) sawLocked(t *step, err error) {
	if !errors.Is(err, redis.ErrClosed) {
		h.closedSeen = 0
		return
	}
	h.closedSeen++
	if cluster := h.cfg.Reload != nil || h.cfg.Shard != nil; cluster && h.closedSeen < closedLimit {
		return
	}
	h.closedSeen = 0
	h.halted = true
	for _, s := range h.shards {
		if s.conn != nil {
			s.conn.endLocked()
		}
	}
	clear(h.shards)
	for ch := range h.idle {
		h.forgetLocked(ch)
	}
	h.unassigned = h.unassigned[:0]
	for _, ch := range h.channels { // kept for the next Listen, which may try once more
		ch.lose(true)
		ch.pending, ch.shard = false, nil
		h.unassigned = append(h.unassigned, ch)
		t.wakes = ch.appendWakes(t.wakes)
	}
}

// reloadLocked asks for a look at the topology, unless that is being done.
func (h *Hub) reloadLocked() {
	if h.cfg.Reload == nil || h.reloading {
		return
	}
	h.reloading = true
	h.spawnLocked(func() {
		if p := raise.Run(h.cfg.Reload); p != nil {
			h.hookFailed(p)
		}
		h.change(func() { h.reloading = false })
	})
}
