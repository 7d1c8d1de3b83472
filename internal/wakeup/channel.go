package wakeup

import (
	"slices"
	"time"
)

// A channel is one name that has a listener, or had one until a moment ago. A name that is forgotten and
// listened to again gets a new channel, so that an answer to the old subscription cannot confirm the new one.
type channel struct {
	name      string
	listeners []*Listener
	shard     *shard        // nil: unassigned
	up        chan struct{} // closed when the subscription is confirmed; replaced by an open one when it is lost
	sent      bool          // handed to the writer of the shard's present connection
	standing  bool          // confirmed on that connection
	stood     bool          // has been confirmed before: the next confirmation ends a gap
	pending   bool          // taken down on suspicion; its listeners have not been told
	refused   bool          // the server has refused it, and the log says so
	gone      bool          // forgotten by the hub
	expires   time.Time     // without listeners: when to forget it
}

// appendWakes adds the wake functions of all listeners, to be called without the hub's mutex when messages
// may have been missed.
func (c *channel) appendWakes(wakes []func()) []func() {
	for _, l := range c.listeners {
		if l.wanted.Wake != nil {
			wakes = append(wakes, l.wanted.Wake)
		}
	}
	return wakes
}

// confirm records that the server has confirmed the subscription and reports whether that ended a gap.
func (c *channel) confirm() (gap bool) {
	gap = c.stood
	if !c.standing {
		close(c.up)
	}
	c.standing, c.stood, c.pending = true, true, false
	return gap
}

// lose records that the connection is gone. It reports whether listeners have to be told now: those of a
// subscription that stood, unless quiet, in which case the news is pending, and due at the next loss or
// confirmation.
func (c *channel) lose(quiet bool) (tell bool) {
	if c.standing {
		c.up = make(chan struct{})
		c.pending = true
	}
	c.sent, c.standing = false, false
	if quiet || !c.pending {
		return false
	}
	c.pending = false
	return true
}

// A Listener is one waiter's interest in a channel.
type Listener struct {
	hub       *Hub
	wanted    Wanted
	ch        *channel      // nil before the listener is opened
	confirmed chan struct{} // the channel's up at the time of Listen; nil before the listener is opened
	closed    bool
}

// Confirmed is closed once the server has confirmed the subscription at some time after Listen, and already
// closed if it stands now. It stays closed when the subscription is lost later; wake tells of that.
func (l *Listener) Confirmed() <-chan struct{} { return l.confirmed }

// Close ends the interest. A wake that is already under way may still arrive. Closing again does nothing.
func (l *Listener) Close() { l.hub.CloseAll(l) }

func (l *Listener) closeLocked(expires time.Time) {
	h := l.hub
	if l.closed {
		return
	}
	l.closed = true
	at := slices.Index(l.ch.listeners, l)
	l.ch.listeners = slices.Delete(l.ch.listeners, at, at+1)
	if len(l.ch.listeners) > 0 {
		return
	}
	if !h.running { // stopped by a closed client: there is no subscription to keep
		h.forgetLocked(l.ch)
		return
	}
	l.ch.expires = expires
	h.idle[l.ch] = struct{}{}
	if h.sweepAt.IsZero() || l.ch.expires.Before(h.sweepAt) {
		h.sweepAt = l.ch.expires
		h.poke()
	}
}
