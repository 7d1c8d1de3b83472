package life

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/why"
)

// A Loss is what is known of why a hold was lost, or several that stand and fall together. Their contexts end
// with the first of it, at once. What is found out later, who has taken it by force, or that the server was
// restarted, is in what the log, the observer and Unlock say.
//
// The zero value is no loss. Found and Begin are called with the mutex of the owner.
type Loss struct{ known atomic.Pointer[known] }

// What is known does not change, but for told. Another one takes its place.
type known struct {
	looked bool   // a renewal has found nothing, and looked for a notice
	forced string // and found this one

	err  *redlatch.LossError                // with which the contexts end; nil: nothing is lost
	told atomic.Pointer[redlatch.LossError] // with all that is known; nil: something is to be found out
	done chan struct{}                      // closed when told is set; nil where it was at once
}

// Err is what is known, nil if nothing is lost.
func (l *Loss) Err() *redlatch.LossError {
	if k := l.known.Load(); k != nil {
		return cmp.Or(k.told.Load(), k.err)
	}
	return nil
}

// Found notes what a renewal has found in place of what is held: the notice of who has taken it by force, or
// none.
func (l *Loss) Found(forced string) {
	if l.Err() == nil {
		l.known.Store(&known{looked: true, forced: forced})
	}
}

// Begin is the loss, unless it has begun before. asks says that there is something to be found out. Where
// Begin reports true, Tell has to follow.
func (l *Loss) Begin(err *redlatch.LossError, asks bool) bool {
	if l.Err() != nil {
		return false
	}
	k := &known{err: err}
	if before := l.known.Load(); before != nil {
		k.looked, k.forced = before.looked, before.forced
	}
	switch {
	case !asks:
		k.told.Store(err)
	case k.forced != "":
		told := *err
		told.Forced = k.forced
		k.told.Store(&told)
	default:
		k.done = make(chan struct{})
	}
	l.known.Store(k)
	return true
}

// Of says of what a log line is, and which holds end with it.
type Of struct {
	Thing  string // "lock"
	Kind   redlatch.Kind
	Logger *slog.Logger
	Holds  []*Hold
}

// Tell has the log and the observers know of the loss, with what find finds out if something is to be found
// out. Tell does not wait for that, and returns what is known now. It is called once, after the contexts have
// ended.
func (l *Loss) Tell(of Of, find func(lost *redlatch.LossError) *redlatch.LossError) error {
	k := l.known.Load()
	if k.done == nil {
		told := k.told.Load()
		of.tell(told)
		return told
	}
	raise.Go(func() {
		told := k.err
		func() {
			defer func() { // also when a hook of the client ends the goroutine
				k.told.Store(told)
				close(k.done)
			}()
			told = find(told)
		}()
		of.tell(told)
	}, func(raised *raise.Panic) { raised.Log(session.Logger(of.Logger)) })
	return k.err
}

func (of Of) tell(lost *redlatch.LossError) {
	session.Logger(of.Logger).Warn("redlatch: "+of.Thing+" lost", append(of.about(lost.Name, lost.Owner),
		"reason", lost.Reason, "detail", lost.Detail, "cause", lost.Cause, "forced", lost.Forced)...)
	for _, h := range of.Holds {
		h.Finish(context.Background(), redlatch.EventLost, lost)
	}
}

// about is what a log line says of the hold. One of several locks has no owner.
func (of Of) about(name, owner string) []any {
	about := []any{"lock.name", errs.Short(name), "lock.primitive", of.Kind}
	if owner != "" {
		about = append(about, "lock.owner", owner)
	}
	return about
}

// Find is for Tell. It asks Redis about something that is gone, which is renewed with such a timeout.
func (l *Loss) Find(s *session.Session, gone why.Gone,
	timeout time.Duration) func(lost *redlatch.LossError) *redlatch.LossError {
	gone.Looked = l.known.Load().looked
	return func(lost *redlatch.LossError) *redlatch.LossError {
		// it was there at its last renewal but one, at the latest
		if renewed := clock.Now().Add(-timeout); gone.Since.Before(renewed) {
			gone.Since = renewed
		}
		told := *lost
		switch found := why.Ask(s, gone); {
		case found.Forced != "":
			told.Forced = found.Forced
		case !found.Restarted.IsZero():
			told.Reason = redlatch.ReasonRestarted
			told.Detail = fmt.Sprintf("the server was restarted at about %s and does not have it any more",
				found.Restarted.Format(time.TimeOnly))
		}
		return &told
	}
}

// Explain is err, and with all that is known if err is what the contexts of this loss end with. It waits for
// that, and is called without a mutex.
func (l *Loss) Explain(err error) error {
	k := l.known.Load()
	if k == nil || k.err == nil || err != error(k.err) {
		return err
	}
	if k.done != nil {
		<-k.done
	}
	return k.told.Load()
}
