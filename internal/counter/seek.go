package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Seeker wants something of a counter.
type Seeker interface {
	// Begin makes an attempt for the seeker and for those of behind, all or the first of them, that go into one
	// script.
	Begin(behind []Seeker) Attempt

	// Abandon gives back what the seeker has got, without waiting for it: its caller does not learn of it.
	Abandon()

	// Owner is how the events call what the seeker has got; empty where that has no identity. The program may
	// know it from now on.
	Owner() string

	// Told gives the seeker what tells the observer of the end of what the seeker has got.
	Told(of *observe.Hold)

	// Receive takes, on the seeker's goroutine, what has moved to it; see Goods.
	Receive(gift any)
}

// An Attempt is one script that serves several seekers in order, the first of whom it is made by.
type Attempt interface {
	Asks() int // for how many
	Take(wake scripts.Wake, candidate row.Candidate, call lane.Call) scripts.Command[lane.Granted]
	Undo(wake scripts.Wake, call lane.Call) scripts.Command[int64] // gives back all that Take has taken

	// Unstored tells how the server remembers a Take. Where it is false, the lane has the answer, and the Undo
	// of the attempt settles the Take in the lane. Where it is true, only what the Take took shows that it was
	// executed. A copy of the command could then be executed after the Undo, and take permits for a call that
	// has ended. So the Take is fenced first: after the fence no copy of it has an effect, and the Undo finds
	// all that it took. For the same reason a success is believed only behind a fence when a copy may still be
	// on its way.
	Unstored() bool

	Announces() bool // the Take may wake other waiters, and needs the message for it also where there is no candidate

	Owed() time.Duration // for how long the Undo of an unstored one is repeated; the usual time if that is longer

	// tells the seeker, on its goroutine, that it was served; an error is the acquisition's
	Took(i int, sent time.Time) error
	Decline(i []int) // gives back, without waiting for it, the shares of those who had left
}

// mostAtOnce bounds how many one script serves. The waiters behind them are asked for at once if all of them
// are served.
const mostAtOnce = 32

// enough is for how many to ask: where few were served lately, because the permits are few or other processes
// are as quick, asking for everybody would be in vain each time.
func (c *Counter) enough() int {
	lately := int(c.lately.Load())
	if lately == 0 {
		return mostAtOnce
	}
	return min(max(2*lately, 3), mostAtOnce)
}

// A waiter is a seeker in line.
type waiter struct {
	counter *Counter
	set     *settings.Settings
	seeker  Seeker
	n       int64 // what it wants
	line    *cohort.Cohort
	offer   cohort.Request
}

// A share is what a waiter is given by an attempt, the head's or its own.
type share struct {
	attempt Attempt
	i       int
	receipt delivery.Receipt
}

// take says to the seeker that it was served. What a send may have brought that was not answered, so long ago
// that the seeker has no use for it, says nothing about how long the next one takes: the seeker asks anew.
func (s share) take() error {
	err := s.attempt.Took(s.i, s.receipt.Sent)
	if err != nil && s.receipt.Doubt {
		return fmt.Errorf("%w (%w)", err, errLate)
	}
	return err
}

var errLate = errors.New("there was an outage")

// seek waits in line, and answers by which path the permits came. found is what was found out before; nil if
// nothing was asked.
func (c *Counter) seek(ctx context.Context, set *settings.Settings, n int64, s Seeker,
	found error) (path string, err error) {
	line, part := c.join(ctx, c.line, set.Poll)
	defer part()
	w := &waiter{counter: c, set: set, seeker: s, n: n, line: line}
	w.offer.Who = w
	if found != nil {
		line.Note(found)
	}
	if err := line.WaitFor(ctx, set.Poll, &w.offer, w.ask); err != nil {
		if n > 1 { // there may be enough for those behind it, which want less
			line.Wake()
		}
		found := line.Found()
		if few, is := found.(tooFew); is {
			found = few.shortage(n)
		}
		return settings.Fresh, unanswered(ctx, err, found)
	}
	if given, is := w.offer.Grant.(moved); is {
		s.Receive(given.gift)
		return given.path(), nil
	}
	return settings.Fresh, w.offer.Grant.(share).take()
}

// ask is the attempt of the head.
func (w *waiter) ask(ctx context.Context) (cohort.Verdict, error) {
	batch := w.line.Behind(w.counter.enough() - 1)
	var behind []Seeker
	for i := range batch {
		behind = append(behind, batch.Who(i).(*waiter).seeker)
	}
	try := w.seeker.Begin(behind)
	got, receipt, err := w.counter.attempt(delivery.Watched(ctx, w.line.Note), try, w.set.OutageFor(false),
		w.counter.stand(w.line, w.set))
	v := cohort.Verdict{Down: delivery.Outage(ctx, err), Sleep: cohort.Bound(got.Again, w.set.Poll)}
	if err == nil {
		err = w.counter.note(got, w.n)
	}
	if err != nil {
		return v, err
	}
	if got.Served < try.Asks() {
		first := w
		if got.Served > 0 {
			first = batch.Who(got.Served - 1).(*waiter)
		}
		v.Found = tooFew{got, first.n}
	}
	if got.Served == 0 {
		return v, nil
	}
	w.counter.lately.Store(int32(got.Served))
	w.counter.took(receipt.Sent)
	w.offer.Grant = share{try, 0, receipt}
	w.serve(batch, try, got.Served, receipt)
	// if the one that was refused has left, and wanted more than one, it wakes the line
	v.Done, v.More = true, v.Found == nil
	return v, nil
}

// serve tells those behind the head what its attempt has come to.
func (w *waiter) serve(batch cohort.Batch, try Attempt, served int, receipt delivery.Receipt) {
	left := w.line.Serve(batch, served-1, func(i int) any { return share{try, i + 1, receipt} })
	for i := range left {
		left[i]++
	}
	if left != nil {
		try.Decline(left)
	}
}

// attempt asks Redis once. What it leaves in doubt is undone in the background. s is nil where it does not
// concern the row.
func (c *Counter) attempt(ctx context.Context, try Attempt, outage time.Duration,
	s *standing) (got lane.Granted, receipt delivery.Receipt, err error) {
	var wake scripts.Wake
	if try.Announces() || s != nil {
		if wake, err = c.wakeFor(ctx, outage); err != nil {
			s.unsent()
			return got, receipt, err
		}
	}
	call := c.Session.BorrowLane(c.Key)
	take, drawn, returned := try.Take(wake, s.called(), call), clock.Now(), false
	// a hook of the client may panic on this goroutine, and the lane would be lent for ever
	defer raise.Unless(&returned, func() {
		s.failed()
		go c.revoke(try, take, call, &delivery.Failure{Doubt: true, Sent: drawn}, s)
	})
	limit := delivery.Limit{Outage: outage, Patient: true}
	if !try.Unstored() {
		limit.Memory = resendWithin
	}
	got, receipt, err = delivery.Deliver(ctx, c.Session.Dispatch, take, limit)
	// nil: it is known what it has taken, and a copy of the command cannot take anything any more
	var doubt *delivery.Failure
	switch {
	case err != nil:
		if failure := delivery.AsFailure(err); failure.Doubt {
			doubt = failure
		}
	case !receipt.Doubt:
	case got.Served == 0 || try.Unstored() && got.Served < try.Asks():
		// A copy that is still on its way may find enough by now, and what it takes nobody would give back. Nor
		// would anybody what an execution before the one that answered had taken for those who are not served any
		// more.
		got, doubt = lane.Granted{Again: -1}, &delivery.Failure{Doubt: true, Sent: receipt.Sent}
	case try.Unstored():
		if _, err = c.fence(ctx, call, outage); err != nil {
			doubt = &delivery.Failure{Doubt: true, Sent: receipt.Sent}
		}
	}
	returned = true
	switch {
	case doubt != nil:
		s.failed()
		go c.revoke(try, take, call, doubt, s)
	case err != nil:
		c.Session.ReturnLane(c.Key, call)
		s.unsent()
	default:
		c.Session.ReturnLane(c.Key, call)
		s.answered(got, try.Asks())
	}
	if err != nil {
		got = lane.Granted{}
	}
	return got, receipt, err
}

// revoke undoes an attempt in doubt, returns its lane, and takes its candidate out of the row.
func (c *Counter) revoke(try Attempt, take scripts.Command[lane.Granted], call lane.Call, doubt *delivery.Failure,
	s *standing) {
	over := func() {
		c.Session.ReturnLane(c.Key, call)
		s.leave()
	}
	if got, known := delivery.Result(doubt, take); known && got.Served == 0 {
		over()
		return
	}
	// however long ago it was sent: the caller may have been patient for longer than the server remembers
	if try.Unstored() {
		c.SettleFor(try.Owed(), func(ctx context.Context) error {
			if _, err := c.fence(ctx, call, settleAttempt); err != nil {
				return err
			}
			return c.undo(ctx, try, call)
		}, over)
		return
	}
	c.settle(doubt.Sent.Add(settleWithin), func(ctx context.Context) error {
		if err := c.undo(ctx, try, call); err != nil {
			return err
		}
		if forgotten(doubt.Sent) { // it would not know what to give back
			return errForgotten
		}
		return nil
	}, over)
}

// undo gives back what an attempt has taken.
func (c *Counter) undo(ctx context.Context, try Attempt, call lane.Call) error {
	wake, err := c.Wake(ctx)
	if err == nil {
		_, err = sendAgain(ctx, c, try.Undo(wake, next(call)))
	}
	return err
}
