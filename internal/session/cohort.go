package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/wakeup"
)

// Channels are the channels that a cohort listens to.
type Channels struct {
	Releases string // its messages wake the cohort; empty: the cohort polls
	Queue    string // the process queue; empty: there is none

	// Handed is called with each message by which a process of the queue hands the lock to this one. It must
	// not block.
	Handed func(c *cohort.Cohort, message string)

	// Counted is a channel without messages. The server counts its subscribers as processes that listen to
	// both channels above. Empty: there is none.
	Counted string
	// with Counted: a message on Releases that does not wake a cohort which hears hand-offs
	Ignored func(message string) bool

	Own  func(c *cohort.Cohort) any // makes what is kept with the cohort; nil: nothing
	Kind string                     // the label of what is waited for; empty: the registry is not told of the waiters
}

// Join returns the cohort of key, which listens to these channels; see [cohort.Registry.Join].
func (s *Session) Join(key cohort.Key, channels Channels) (c *cohort.Cohort, held bool, part func() *cohort.Candidate) {
	c, held, part = s.Cohorts.Join(key, func(c *cohort.Cohort) cohort.Subscriptions {
		if channels.Own != nil {
			c.Own = channels.Own(c)
		}
		c.Kind = channels.Kind
		return s.subscribe(c, channels)
	})
	s.tellListing()
	return c, held, part
}

// subscribe prepares that the hub wakes the cohort. A message means that what Redis confirmed before it is
// old news.
func (s *Session) subscribe(c *cohort.Cohort, channels Channels) (to cohort.Subscriptions) {
	s.mu.Lock()
	hub := s.hubLocked()
	s.mu.Unlock()
	if channels.Releases == "" || hub == nil {
		return to
	}
	wake := func() {
		c.Void()
		c.Wake()
	}
	// The channel of releases comes after that of hand-offs and before the counted one: each stands when the
	// next one does.
	var wanted []wakeup.Wanted
	if channels.Queue != "" {
		wanted = append(wanted, wakeup.Wanted{Channel: channels.Queue + ":" + s.ID,
			Hear: func(message string) { channels.Handed(c, message) }})
	}
	releases := len(wanted)
	wanted = append(wanted, wakeup.Wanted{Channel: channels.Releases, Wake: wake, Hear: func(message string) {
		if channels.Counted == "" || !channels.Ignored(message) || !c.HearsHandOffs() {
			wake()
		}
	}})
	if channels.Counted != "" {
		wanted = append(wanted, wakeup.Wanted{Channel: channels.Counted, Hear: func(string) {}})
	}
	listeners := hub.Listeners(wanted...)
	if channels.Queue != "" {
		to.Own = listeners[0]
	}
	to.Lock = listeners[releases]
	to.Open = func() { hub.OpenAll(listeners...) }
	to.Close = func() { hub.CloseAll(listeners...) }
	return to
}

// Hears tells whether messages on channel arrive, because a call of this process listens or did so until a
// moment ago.
func (s *Session) Hears(channel string) bool {
	s.mu.Lock()
	hub := s.hub
	s.mu.Unlock()
	return hub != nil && hub.Hears(channel)
}

// Waiters is how many calls of this process wait for key, also for a fair lock.
func (s *Session) Waiters(key cohort.Key) int {
	waiting := s.Cohorts.Waiters(key)
	if q := s.queue(key); q != nil {
		waiting += q.Len()
	}
	return waiting
}

// Found is what the waiters of this process for key have found out last, nil for nothing yet.
func (s *Session) Found(key cohort.Key) error {
	if q := s.queue(key); q != nil {
		return q.Found()
	}
	return s.Cohorts.Found(key)
}

// How long Behind waits before it looks again: twice as long each time. Only a call that comes during the
// first attempt of another looks more than once, and that attempt lasts for milliseconds, or for as long as
// the server is silent.
const (
	learnFirst = 2 * time.Millisecond
	learnMost  = 64 * time.Millisecond
)

// Behind is for a call that asks once while other calls of this process wait for key. It must not overtake
// them, so it is told what they have found out: that they were refused, or an error. If that is nothing yet,
// Behind waits for it, for outage at most. Neither says that no call waits any more, or that this process has
// got what key is for.
func (s *Session) Behind(ctx context.Context, key cohort.Key, outage time.Duration) (refused bool, err error) {
	until := time.Now().Add(outage)
	for pause := learnFirst; ; pause = min(2*pause, learnMost) {
		switch found := s.Found(key); {
		case errors.Is(found, errs.NotAcquired):
			return true, nil
		case found != nil:
			return false, fmt.Errorf("others of this process are waiting for it, and their last attempt failed: %w",
				found)
		}
		if _, held := s.Cohorts.HeldSince(key); held || s.Waiters(key) == 0 {
			return false, nil
		}
		if !time.Now().Before(until) {
			return false, delivery.Unavailable(fmt.Errorf("those of this process who wait for it had no answer within %v",
				outage))
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}
