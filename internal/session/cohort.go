package session

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
)

// Channels are those that a cohort listens to.
type Channels struct {
	Releases string // whose messages wake it; empty: it polls
	Queue    string // the process queue; empty: there is none

	// Handed is called with each message that says to which process of that queue the lock was handed. It must not block.
	Handed func(c *cohort.Cohort, message string)

	// Counted is a channel by which the server counts who listens to the others; empty: none. It stands no longer than these.
	Counted string
	Ignored func(message string) bool // with Counted: a message of a release that does not wake a cohort that hears hand-offs
}

// Join returns the cohort of key, which listens to these channels; see [cohort.Registry.Join].
func (s *Session) Join(key cohort.Key, channels Channels) (_ *cohort.Cohort, held bool, part func() *cohort.Candidate) {
	return s.Cohorts.Join(key, func(c *cohort.Cohort) cohort.Subscriptions { return s.subscribe(c, channels) })
}

// subscribe has the hub wake the cohort. Messages mean that what was confirmed before is old news.
func (s *Session) subscribe(c *cohort.Cohort, channels Channels) (to cohort.Subscriptions) {
	s.mu.Lock()
	hub := s.hubLocked()
	s.mu.Unlock()
	if channels.Releases == "" || hub == nil {
		return to
	}
	if channels.Queue != "" { // first, so that it stands when the other one does
		to.Own = hub.Hear(channels.Queue+":"+s.ID, func(message string) { channels.Handed(c, message) })
	}
	wake := func() {
		c.Void()
		c.Wake()
	}
	if channels.Counted == "" {
		to.Lock = hub.Listen(channels.Releases, wake)
		return to
	}
	to.Lock = hub.ListenAndHear(channels.Releases, func(message string) {
		if !channels.Ignored(message) || !c.HearsHandOffs() {
			wake()
		}
	}, wake)
	to.Count = hub.Hear(channels.Counted, func(string) {}) // last, so that the others stand when it does
	return to
}

// Waiters is how many calls of this process wait for key, those for a fair lock among them.
func (s *Session) Waiters(key cohort.Key) int {
	s.mu.Lock()
	q := s.queues[key]
	users := 0
	if q != nil {
		users = q.users
	}
	s.mu.Unlock()
	return users + s.Cohorts.Waiters(key)
}

// Found is what the waiters of this process for key have found out last, nil for nothing yet.
func (s *Session) Found(key cohort.Key) error {
	s.mu.Lock()
	q := s.queues[key]
	s.mu.Unlock()
	if q != nil {
		return q.Door.Found()
	}
	return s.Cohorts.Found(key)
}

// learnEvery is how often Behind looks. It is only for a call that comes while the first attempt of another is under way.
const learnEvery = 2 * time.Millisecond

// Behind is for a call that asks once while others of this process wait for key, which it must not overtake: it is told
// what they have found out. If that is nothing yet, Behind waits for it, for as long as the outage may last. nil without an
// error says that no call waits any more, or that this process has got what key is for.
func (s *Session) Behind(ctx context.Context, key cohort.Key, outage time.Duration) (found, err error) {
	until := time.Now().Add(outage)
	for {
		if found := s.Found(key); found != nil {
			return found, nil
		}
		if _, held := s.Cohorts.HeldSince(key); held || s.Waiters(key) == 0 {
			return nil, nil
		}
		if !time.Now().Before(until) {
			return nil, delivery.Unavailable(fmt.Errorf("those of this process who wait for it had no answer within %v", outage))
		}
		select {
		case <-time.After(learnEvery):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
