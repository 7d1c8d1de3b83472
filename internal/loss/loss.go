// Package loss has what is known of why a hold was lost. The contexts of the hold end with the first of it,
// at once. What is found out later, who has taken it by force, or that the server was restarted, is in what
// the log, the observer and Unlock say.
package loss

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/why"
)

// A Loss is that of one hold, or of several that stand and fall together. Its methods are called with the
// mutex of its owner, unless they say otherwise. Nil is no loss.
type Loss struct {
	looked bool   // a renewal has found nothing, and looked for a notice
	forced string // and found this one

	err  *redlatch.LossError                // with which the contexts end; nil: nothing is lost
	told atomic.Pointer[redlatch.LossError] // with all that is known; nil: something is to be found out
	done chan struct{}                      // closed when told is set; nil where it was at once
}

// Err is what is known, nil if nothing is lost.
func (l *Loss) Err() *redlatch.LossError {
	if l == nil {
		return nil
	}
	return cmp.Or(l.told.Load(), l.err)
}

// Found notes what a renewal has found in place of what is held: the notice of who has taken it by force, or
// none.
func (l *Loss) Found(forced string) { l.looked, l.forced = true, forced }

// Begin is the loss. err is what the contexts end with. If it tells that there is something to be found out,
// Find or Tell has to follow.
func (l *Loss) Begin(err *redlatch.LossError, asks bool) (open bool) {
	l.err = err
	switch {
	case !asks:
		l.told.Store(err)
	case l.forced != "":
		l.told.Store(withNotice(err, l.forced))
	default:
		l.done = make(chan struct{})
		return true
	}
	return false
}

// Find asks Redis for the rest, of something of this client that is renewed with such a timeout, which it had
// since then. It is called once, without a mutex, and returns all that is known.
func (l *Loss) Find(s *session.Session, gone why.Gone, timeout time.Duration) (told *redlatch.LossError) {
	told = l.err
	defer func() { l.Tell(told) }() // also when a hook of the client ends the goroutine
	gone.Looked = l.looked
	// it was there at its last renewal but one, at the latest
	if renewed := clock.Now().Add(-timeout); gone.Since.Before(renewed) {
		gone.Since = renewed
	}
	switch found := why.Ask(s, gone); {
	case found.Forced != "":
		told = withNotice(told, found.Forced)
	case !found.Restarted.IsZero():
		restarted := *told
		restarted.Reason = redlatch.ReasonRestarted
		restarted.Detail = fmt.Sprintf("the server was restarted at about %s and does not have it any more",
			found.Restarted.Format(time.TimeOnly))
		told = &restarted
	}
	return told
}

// Tell is the rest. It is called once, without a mutex.
func (l *Loss) Tell(told *redlatch.LossError) {
	l.told.Store(told)
	close(l.done)
}

// Explain is err, and with the rest if err is what the contexts of this loss end with. It waits for that, and
// is called, without a mutex, with an error that came from the owner.
func (l *Loss) Explain(err error) error {
	if l == nil || l.err == nil || err != error(l.err) {
		return err
	}
	if l.done != nil {
		<-l.done
	}
	return l.told.Load()
}

func withNotice(err *redlatch.LossError, forced string) *redlatch.LossError {
	told := *err
	told.Forced = forced
	return &told
}
