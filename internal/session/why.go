package session

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/raise"
)

// whyWithin is how long it is tried to find out why something was lost. The contexts of what was lost have
// ended by then.
const whyWithin = 500 * time.Millisecond

func (s *Session) whyContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(raise.Background(context.Background(), Logger(s.logger)), whyWithin)
}

// A Gone is what Redis does not have any more that this client held.
type Gone struct {
	Key    string
	Owners []string  // for which a notice may have been left: of a permit its ids
	Looked bool      // the renewal that found it gone has looked for notices, and found none
	Since  time.Time // Redis had it after this moment
}

// A Why is why something is gone, as far as it is known.
type Why struct {
	Forced    string    // who has taken it by force, and why; empty if that was not said
	Restarted time.Time // when the server was started, if that was after it was acquired; zero else
}

// Why finds out why something is gone. However many holds are lost together, they are asked about in few
// commands, and the server about itself in one.
func (s *Session) Why(g Gone) (why Why) {
	ctx, cancel := s.whyContext()
	defer cancel()
	if !g.Looked {
		why.Forced = s.noticeFor(ctx, g)
	}
	if why.Forced == "" {
		why.Restarted = s.restarted(ctx, g.Key, g.Since)
	}
	return why
}
