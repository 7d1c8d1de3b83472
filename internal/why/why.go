// Package why finds out why something was lost that a client held: by force, or because its server was
// restarted. However many holds are lost together, they are asked about in few commands, and each server about
// itself in one.
package why

import (
	"time"

	"github.com/redlatch/redlatch/internal/session"
)

// within is how long it is tried to find out why something was lost. The contexts of what was lost have
// ended by then.
const within = 500 * time.Millisecond

// A Gone is what Redis does not have any more that a client held.
type Gone struct {
	Key    string
	Owners []string  // for which a notice may have been left: of a permit its ids
	Looked bool      // the renewal that found it gone has looked for notices, and found none
	Since  time.Time // Redis had it after this moment
}

// A Reason is why something is gone, as far as it is known.
type Reason struct {
	Forced    string    // who has taken it by force, and why; empty if that was not said
	Restarted time.Time // when the server was started, if that was after it was acquired; zero else
}

// questions are those of one session.
type questions struct {
	*session.Session
	notices notices
	starts  starts
}

// questionsKey is where a session keeps them.
type questionsKey struct{}

func questionsOf(s *session.Session) *questions {
	q, found := s.Own.Load(questionsKey{})
	if !found {
		q, _ = s.Own.LoadOrStore(questionsKey{}, &questions{Session: s})
	}
	return q.(*questions)
}

// Ask finds out why something is gone.
func Ask(s *session.Session, g Gone) (found Reason) {
	q := questionsOf(s)
	ctx, cancel := q.Background(within)
	defer cancel()
	if !g.Looked {
		found.Forced = q.noticeFor(ctx, g)
	}
	if found.Forced == "" {
		found.Restarted = q.restarted(ctx, g.Key, g.Since)
	}
	return found
}
