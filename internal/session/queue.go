package session

import (
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/wakeup"
)

// A queue is a fairqueue.Queue, which exists while a call is in it, and until the next command if that has to
// carry something.
type queue struct {
	fairqueue.Queue
	users    int              // guarded by Session.mu
	listener *wakeup.Listener // guarded by Session.mu; to the channel of this process
}

// Queue returns this process's part of the queue of a fair lock, and a function to call when the caller has
// left it.
func (s *Session) Queue(key cohort.Key) (*fairqueue.Queue, func()) {
	defer s.tellListing()
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	if q == nil {
		q = &queue{}
		if s.queues == nil {
			s.queues = map[cohort.Key]*queue{}
		}
		s.queues[key] = q
	}
	return s.useLocked(key, q)
}

// queue is what this process has of the queue of a fair lock; nil: nothing.
func (s *Session) queue(key cohort.Key) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues[key]
}

// QueueIf is Queue if there is one; else nil.
func (s *Session) QueueIf(key cohort.Key) (*fairqueue.Queue, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[key]; q != nil {
		return s.useLocked(key, q)
	}
	return nil, func() {}
}

func (s *Session) useLocked(key cohort.Key, q *queue) (*fairqueue.Queue, func()) {
	q.users++
	return &q.Queue, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.users--; q.users > 0 || !q.Idle() {
			return
		}
		delete(s.queues, key)
		if q.listener != nil {
			q.listener.Close()
		}
	}
}

// EachQueue calls fn with each queue that a call is in: how many wait in it, and since when.
func (s *Session) EachQueue(fn func(key cohort.Key, waiters int, since time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, q := range s.queues {
		if q.users > 0 {
			waiters, since := q.Oldest()
			fn(key, waiters, since)
		}
	}
}

// ListenFor has the queue of key, which the caller is in, hear the messages on the channel of this process,
// as Listen does. confirmed is nil also where messages arrived before.
func (s *Session) ListenFor(key cohort.Key, channel string, hear func(message string),
	missed func()) (confirmed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	if q.listener != nil {
		select {
		case <-q.listener.Confirmed():
			return nil
		default:
			return q.listener.Confirmed()
		}
	}
	hub := s.hubLocked()
	if hub == nil {
		return nil
	}
	q.listener = hub.Listen(channel+":"+s.ID, hear, missed)
	return q.listener.Confirmed()
}

// Listen calls hear with every message on the channel, and missed when messages may have been missed.
// confirmed is closed once messages arrive. While it is not known which family of channels is in use, no
// message will come and confirmed is nil.
func (s *Session) Listen(channel string, hear func(message string),
	missed func()) (confirmed <-chan struct{}, stop func()) {
	s.mu.Lock()
	hub := s.hubLocked()
	s.mu.Unlock()
	if hub == nil {
		return nil, func() {}
	}
	listener := hub.Listen(channel, hear, missed)
	return listener.Confirmed(), listener.Close
}
