package redlatchtest

import (
	"context"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/session"
)

// A subject is the lock as a call that waits for long asks who holds it.
type subject memory

// Look tells of the holds in force. While another process has the lock there is one more, without an owner; see Busy.
func (s *subject) Look(context.Context) (redlatch.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := redlatch.Info{Name: s.name, Kind: redlatch.KindLock, Exists: len(s.holds) > 0 || s.kept > 0}
	for _, f := range s.holds {
		info.Holders = append(info.Holders, redlatch.Holder{Owner: f.terms.Owner, Holds: 1, Own: true, Token: f.terms.Token})
	}
	if s.kept > 0 {
		info.Holders = append(info.Holders, redlatch.Holder{Holds: 1})
	}
	return info, nil
}

// Sessions are none, for there is no client.
func (s *subject) Sessions() []*session.Session { return nil }

// Itself is the lock.
func (s *subject) Itself() any { return s }
