package counter

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// ears is what a line listens to. Where the server does not know all listeners it has no row.
func (c *Counter) ears() session.Channels {
	ears := session.Channels{Releases: c.channel, Kind: string(c.kind)}
	if c.row != "" {
		ears.Own = newLot
	}
	if c.row != "" && c.Session.KnowsListeners() {
		ears.Queue, ears.Handed = c.row, told
		ears.Counted, ears.Ignored = row.Known(c.row), row.ForOthers
	}
	return ears
}

// told is called with the message that tells the process to look. It wakes the line also if the candidate is
// another by now.
func told(l *cohort.Cohort, message string) {
	l.Place.Store(row.Place(message))
	l.Wake()
}

// A standing is the part of an attempt that concerns the row: the process has a candidate, which stands there
// when the attempt was refused. It is nil where the process would not hear that it is told to look.
type standing struct {
	counter   *Counter
	seat      *cohort.Candidacy
	sitter    *cohort.Candidate
	candidate row.Candidate
}

// stand prepares an attempt of the head of a line. One of answered, unsent and failed must follow.
func (c *Counter) stand(line *cohort.Cohort, set *settings.Settings) *standing {
	if !line.HearsHandOffs() {
		return nil
	}
	sitter := line.Candidacy.Ask(c.Session.NextOwner)
	patience := 2 * min(set.Poll, 12*time.Hour)
	return &standing{c, &line.Candidacy, sitter,
		row.Candidate{ID: sitter.Owner, Place: line.Place.Swap(0), Patience: patience}}
}

// called is how the script calls the candidate.
func (s *standing) called() row.Candidate {
	if s == nil {
		return row.Candidate{}
	}
	return s.candidate
}

// answered is for an attempt whose outcome is known.
func (s *standing) answered(served bool) {
	switch {
	case s == nil:
	case served:
		s.seat.Won(s.sitter)
	case s.seat.Refused(s.sitter, time.Time{}, 1): // a row of permits has no use for the time
		go s.leave()
	}
}

// unsent is for an attempt that was not executed.
func (s *standing) unsent() {
	if s != nil && s.seat.Refused(s.sitter, time.Time{}, 0) {
		go s.leave()
	}
}

// failed is for an attempt that may have been executed, or be executed late. When it cannot be any more,
// leave must follow.
func (s *standing) failed() {
	if s != nil {
		s.seat.Failed(s.sitter)
	}
}

func (s *standing) leave() {
	if s != nil {
		s.counter.leaveRow(s.sitter)
	}
}

// leaveRow takes a candidate out of the row that the process needs no more, and has what it was told told to
// the next. If that fails, what is told to it is lost, and costs others a poll interval.
func (c *Counter) leaveRow(sitter *cohort.Candidate) {
	log := session.Logger(c.defaults.Logger).With("lock.name", c.Name, "lock.primitive", c.kind)
	ctx, cancel := context.WithTimeout(raise.Background(context.Background(), log), settleAttempt)
	defer cancel()
	wake, err := c.Wake(ctx)
	if err != nil || wake.Row == "" {
		return
	}
	if _, err = Send(ctx, c, row.Leave(c.Key, wake, sitter.Owner), settleAttempt); err != nil {
		log.Debug("redlatch: a process could not leave the row of those who wait", "error", err)
	}
}
