package session

import (
	"github.com/redlatch/redlatch/internal/waiting"
	"github.com/redlatch/redlatch/internal/wakeup"
)

// A LineKey names a line: waiters for the same key that cannot stand in for one another wait in different lines.
type LineKey struct {
	Key  string
	Kind string // the primitive, and the side where it has two
}

// A line is a waiting.Line with its subscription, for as long as somebody is in it.
type line struct {
	*waiting.Line
	users    int // guarded by Session.mu
	listener *wakeup.Listener
}

// Waiting tells whether somebody of this process waits in line, and must not be overtaken.
func (s *Session) Waiting(key LineKey) bool {
	return s.Waiters(key) > 0
}

// Waiters is how many of this process wait in line.
func (s *Session) Waiters(key LineKey) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[key]; l != nil {
		return l.Len()
	}
	if q := s.queues[key]; q != nil {
		return q.users
	}
	return 0
}

// Join returns the line, subscribed to channel (or polling, without one), and a function to call when the caller has
// left it.
func (s *Session) Join(key LineKey, channel string) (*waiting.Line, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil {
		l = s.openLineLocked(channel)
		s.lines[key] = l
	}
	l.users++
	return l.Line, func() { s.part(key, l) }
}

func (s *Session) openLineLocked(channel string) *line {
	if channel == "" || s.hubLocked() == nil {
		return &line{Line: waiting.NewLine(nil)}
	}
	l := &line{}
	l.Line = waiting.NewLine(func() <-chan struct{} { return l.listener.Confirmed() })
	l.listener = s.hub.Listen(channel, l.Wake)
	return l
}

func (s *Session) part(key LineKey, l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.users--
	if l.users > 0 {
		return
	}
	delete(s.lines, key)
	if l.listener != nil {
		l.listener.Close()
	}
}
