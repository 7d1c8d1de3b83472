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

// join takes a call into the local queue of key.
func (c *Counter) join(ctx context.Context, key cohort.Key, poll time.Duration) (queue *cohort.Cohort, part func()) {
	// The hub has to know which family of channels is in use. While it does not, the queue polls; so it is
	// worth asking for as long as a poll takes.
	_, _ = c.Session.PublishFor(ctx, poll)
	queue, _, leave := c.Session.Join(key, c.channels())
	return queue, func() {
		if last := leave(); last != nil {
			go c.dequeue(last)
		}
	}
}

// channels are what a local queue listens to. Where the server does not know all listeners there is no
// process queue.
func (c *Counter) channels() session.Channels {
	to := session.Channels{Releases: c.channel, Kind: string(c.kind)}
	if c.processQueue != "" {
		to.Own = newLot
	}
	if c.processQueue != "" && c.Session.KnowsListeners() {
		to.Queue, to.Handed = c.processQueue, told
		to.Counted, to.Ignored = row.Known(c.processQueue), row.ForOthers
	}
	return to
}

// told is called with the message that tells the process to ask. It wakes the queue also if the candidate is
// another by now.
func told(queue *cohort.Cohort, message string) {
	if m, ok := row.Read(message); ok && m.Looks {
		queue.Wake()
	}
}

// A candidate is the part of an attempt that concerns the process queue: the identity that stands there when
// the attempt was refused. It is nil where the process would not hear that it is told to ask. One of answered
// and failed ends it.
type candidate struct {
	counter *Counter
	of      *cohort.Candidacy
	*cohort.Candidate
	args row.Candidate // as the script has it
}

// candidate prepares an attempt of the head of a local queue.
func (c *Counter) candidate(queue *cohort.Cohort, set *settings.Settings) *candidate {
	if !queue.HearsHandOffs() {
		return nil
	}
	one := queue.Candidacy.Ask(c.Session.NextOwner)
	patience := 2 * min(set.Poll, 12*time.Hour)
	return &candidate{c, &queue.Candidacy, one, row.Candidate{ID: one.Owner, Patience: patience}}
}

// called is the candidate as the script has it.
func (k *candidate) called() row.Candidate {
	if k == nil {
		return row.Candidate{}
	}
	return k.args
}

// answered is for an attempt whose outcome is known: whether it was executed, and has served its seeker.
func (k *candidate) answered(executed, served bool) {
	if k == nil {
		return
	}
	at := int64(0)
	if executed {
		at = 1 // permits are told and not handed over, so the time of the entry is of no use
	}
	if served {
		k.of.Won(k.Candidate)
	} else if k.of.Refused(k.Candidate, time.Time{}, at) {
		go k.leave()
	}
}

// failed is for an attempt that may have been executed, or be executed late. When it cannot be any more,
// leave must follow.
func (k *candidate) failed() {
	if k != nil {
		k.of.Failed(k.Candidate)
	}
}

func (k *candidate) leave() {
	if k != nil {
		k.counter.dequeue(k.Candidate)
	}
}

// dequeue takes a candidate that is of no use any more out of the process queue, and has what it was told
// told to the next. If that fails, what is told to it is lost, and costs others a poll interval.
func (c *Counter) dequeue(one *cohort.Candidate) {
	ctx, cancel := context.WithTimeout(raise.Background(context.Background(), c.log()), settleAttempt)
	defer cancel()
	wake, err := c.Wake(ctx)
	if err != nil || wake.Row == "" {
		return
	}
	if _, err = Send(ctx, c, row.Leave(c.Key, wake, one.Owner), settleAttempt); err != nil {
		c.log().Debug("redlatch: a process could not leave the queue of the processes that wait", "error", err)
	}
}
