package session

import (
	"hash/maphash"

	"github.com/redlatch/redlatch/internal/waiting"
	"github.com/redlatch/redlatch/internal/wakeup"
)

// A LineKey names a line: waiters for the same key that cannot stand in for one another wait in different lines.
type LineKey struct {
	Key  string
	Kind string // the primitive, and the side where it has two
}

// A Post stands for one who has what a line is for. It is a part of him, so that having costs nothing beside.
type Post struct{ _ byte } // of a size, or two could have one address

// A place is a line's key for the posts. Ten thousand holds are as many posts, in which the names, which the lines need
// for themselves, would take three times as much room. Two names in one place, out of 2^64, would be mistaken for each
// other at worst by somebody who comes for the one while the other is held: he asks a poll interval late.
type place uint64

var seed = maphash.MakeSeed()

func (k LineKey) place() place {
	return place(maphash.String(seed, k.Key) + 31*maphash.String(seed, k.Kind))
}

// A line is a waiting.Line with its subscription, for as long as somebody is in it or has what it is for.
type line struct {
	*waiting.Line
	users    int // guarded by Session.mu
	listener *wakeup.Listener
}

// Waiting tells whether somebody of this process waits in line, and must not be overtaken.
func (s *Session) Waiting(key LineKey) bool {
	return s.Waiters(key) > 0
}

// Busy tells whether whoever wants key has to stand in line: others of this process wait for it, or one has it and will
// give it on.
func (s *Session) Busy(key LineKey) (waited, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waitersLocked(key) > 0, s.posts[key.place()] != nil
}

// Waiters is how many of this process wait in line.
func (s *Session) Waiters(key LineKey) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waitersLocked(key)
}

func (s *Session) waitersLocked(key LineKey) int {
	if l := s.lines[key]; l != nil {
		return l.Len()
	}
	if q := s.queues[key]; q != nil {
		return q.users
	}
	return 0
}

// Join returns the line, subscribed to channel (or polling, without one), whether somebody of this process has what it
// is for, and a function to call when the caller has left it.
func (s *Session) Join(key LineKey, channel string) (_ *waiting.Line, held bool, part func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil {
		l = s.openLineLocked(channel)
		s.lines[key] = l
	}
	l.users++
	return l.Line, s.posts[key.place()] != nil, func() { s.part(key, l) }
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
	s.closeLineLocked(key, l)
}

func (s *Session) closeLineLocked(key LineKey, l *line) {
	if l.users > 0 || s.posts[key.place()] != nil {
		return
	}
	delete(s.lines, key)
	l.Stop()
	if l.listener != nil {
		l.listener.Close()
	}
}

// Hold notes that holder has key from now on. Until Free, those of this process who come for it wait for what he does,
// and do not ask.
func (s *Session) Hold(key LineKey, holder *Post) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[key.place()] = holder
}

// Hears tells whether those in line are woken by a message that is sent from now on: it reaches them, or the loss of
// their subscription does.
func (s *Session) Hears(key LineKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil || l.listener == nil {
		return false
	}
	select {
	case <-l.listener.Confirmed():
		return true
	default:
		return false
	}
}

// Free notes that holder has key no more, or not for certain, and that nobody of this process was given it by him. Those
// in line ask, unless they hear of it: woken twice they would ask twice. It does nothing when somebody else holds by now.
func (s *Session) Free(key LineKey, holder *Post, heard bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts[key.place()] != holder {
		return
	}
	delete(s.posts, key.place())
	if l := s.lines[key]; l != nil {
		if !heard {
			l.Wake()
		}
		s.closeLineLocked(key, l)
	}
}

// Claim claims the first in line, for holder to give key to; see [waiting.Line.Claim].
func (s *Session) Claim(key LineKey, holder *Post) (waiting.Claim, bool) {
	s.mu.Lock()
	l := s.lines[key]
	known := s.posts[key.place()] == holder
	s.mu.Unlock()
	if l == nil || !known {
		return waiting.Claim{}, false
	}
	return l.Claim()
}
