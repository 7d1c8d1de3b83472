package session

import (
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/fairqueue"
)

// A queue is a fairqueue.Queue, which exists while a call is in it.
type queue struct {
	*fairqueue.Queue
	users int // guarded by Session.mu
}

// Queue returns this process's part of the queue of a fair lock, and a function to call when the caller has left it.
func (s *Session) Queue(key cohort.Key) (*fairqueue.Queue, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	if q == nil {
		q = &queue{Queue: fairqueue.New()}
		if s.queues == nil {
			s.queues = map[cohort.Key]*queue{}
		}
		s.queues[key] = q
	}
	q.users++
	return q.Queue, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.users--; q.users == 0 {
			delete(s.queues, key)
		}
	}
}

// Listen calls hear with every message on the channel, and missed when messages may have been missed. confirmed is closed
// once messages arrive. While it is not known which family of channels is in use, no message will come and confirmed is nil.
func (s *Session) Listen(channel string, hear func(message string), missed func()) (confirmed <-chan struct{}, stop func()) {
	s.mu.Lock()
	hub := s.hubLocked()
	s.mu.Unlock()
	if hub == nil {
		return nil, func() {}
	}
	listener := hub.ListenAndHear(channel, hear, missed)
	return listener.Confirmed(), listener.Close
}
