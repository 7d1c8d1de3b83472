package counter

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

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
	// Begin makes an attempt for the seeker and for those of behind, all or the first of them, that go into one script.
	Begin(behind []Seeker) Attempt

	// Abandon gives back what the seeker has got, without waiting for it: its caller does not learn of it. What is found
	// out to have been dropped need not be given back here.
	Abandon()

	// Owner is how the events call what the seeker has got; empty where that has no identity. The program may know it from now on.
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

	// Unstored tells that the Take is remembered by what it took and not in the lane. So it is fenced before its Undo, which
	// then needs no lane, and before a success of which a copy may still be on its way is believed. An attempt whose Take is
	// stored has its Undo settle it in the lane, and needs no message to take, unless there is a candidate.
	Unstored() bool

	Took(i int, sent time.Time) error // tells the seeker, on its goroutine, that it was served; an error is the acquisition's
	Decline(i []int)                  // gives back, without waiting for it, the shares of those who had left
}

// mostAtOnce bounds how many one script serves. Who stands behind them is asked for at once if all of them are served.
const mostAtOnce = 32

// enough is for how many to ask: where few were served lately, because the permits are few or other processes are as quick,
// asking for everybody would be in vain each time.
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
	short   atomic.Bool                  // what was found last was less than it wants
	last    atomic.Pointer[lane.Granted] // what was granted last, by its own attempt or the head's; nil: it is not known
}

// A share is what a waiter is given whom the head's attempt has served.
type share struct {
	attempt Attempt
	i       int
	receipt delivery.Receipt
}

// tell says to the i-th seeker of an attempt that it was served. What a send may have brought that was not answered, so
// long ago that the seeker has no use for it, says nothing about how long the next one takes: the seeker asks anew.
func tell(try Attempt, i int, receipt delivery.Receipt) error {
	err := try.Took(i, receipt.Sent)
	if err != nil && receipt.Doubt {
		return fmt.Errorf("%w (%w)", err, errLate)
	}
	return err
}

var errLate = errors.New("there was an outage")

// seek waits in line, and answers what was granted last, and whether the permits have moved within the process. got is what was granted before, found what that says; nil if nothing was asked.
func (c *Counter) seek(ctx context.Context, set *settings.Settings, n int64, s Seeker, got lane.Granted, found error) (latest lane.Granted, hasMoved bool, err error) {
	line, part := c.join(ctx, c.line, set.Poll)
	defer part()
	w := &waiter{counter: c, set: set, seeker: s, n: n, line: line}
	w.offer.Who = w
	w.last.Store(&got)
	if found != nil {
		line.Note(found)
	}
	err = line.WaitFor(ctx, set.Poll, &w.offer, w.ask)
	if err != nil {
		if w.short.Load() || n > 1 { // and there may be enough for those behind it, who want less
			line.Wake()
		}
		return *w.last.Load(), false, unanswered(ctx, err, line.Found())
	}
	switch given := w.offer.Grant.(type) {
	case share:
		return got, false, tell(given.attempt, given.i, given.receipt)
	case moved:
		s.Receive(given.gift)
		return got, true, nil
	}
	return got, false, nil
}

// ask is the attempt of the head.
func (w *waiter) ask(ctx context.Context) (cohort.Verdict, error) {
	batch := w.line.Behind(w.counter.enough() - 1)
	var behind []Seeker
	for i := range batch {
		behind = append(behind, batch.Who(i).(*waiter).seeker)
	}
	try := w.seeker.Begin(behind)
	got, receipt, err := w.counter.attempt(delivery.Watched(ctx, w.line.Note), try, w.set.OutageFor(false), w.counter.stand(w.line, w.set))
	w.short.Store(err == nil && got.Served == 0)
	if err == nil && got.Served == 0 {
		w.refused(batch, got)
	}
	v := cohort.Verdict{Down: delivery.Outage(ctx, err), Sleep: cohort.Bound(got.Again, w.set.Poll)}
	if err != nil || got.Served == 0 {
		v.Found = tooFew
		return v, err
	}
	w.counter.lately.Store(int32(got.Served))
	w.counter.took(receipt.Sent)
	v.Done, v.More = true, w.serve(batch, try, got.Served, receipt)
	if !v.More {
		v.Found = tooFew
	}
	return v, tell(try, 0, receipt)
}

// refused notes why the head was not served. Those behind it have not been looked at: what holds for any of them is that
// there is no semaphore.
func (w *waiter) refused(batch cohort.Batch, got lane.Granted) {
	w.last.Store(&got)
	if got.Short == lane.Missing {
		for i := range batch {
			batch.Who(i).(*waiter).last.Store(&got)
		}
	}
}

// serve tells those behind the head what its attempt has come to, and answers whether there may be enough for whoever is
// next: nobody was refused, or he has left.
func (w *waiter) serve(batch cohort.Batch, try Attempt, served int, receipt delivery.Receipt) (more bool) {
	refused := served < try.Asks()
	if refused { // said before it is looked whether he is there: if he leaves after that, he knows
		batch.Who(served - 1).(*waiter).short.Store(true)
	}
	left := w.line.Serve(batch, served-1, func(i int) any { return share{try, i + 1, receipt} })
	for i := range left {
		left[i]++
	}
	if left != nil {
		try.Decline(left)
	}
	return !refused || w.line.Left(batch, served-1)
}

// attempt asks Redis once. What it leaves in doubt is undone in the background. s is nil where it does not concern the row.
func (c *Counter) attempt(ctx context.Context, try Attempt, outage time.Duration, s *standing) (got lane.Granted, receipt delivery.Receipt, err error) {
	var wake scripts.Wake
	if try.Unstored() || s != nil {
		if wake, err = c.wakeFor(ctx, outage); err != nil {
			s.unsent()
			return got, receipt, err
		}
	}
	call, start, returned := c.Session.BorrowLane(c.Key), time.Now(), false
	defer raise.Unless(&returned, func() { // a hook of the client may panic on this goroutine, and the lane would be lent for ever
		s.failed()
		go c.revoke(try, call, start, s)
	})
	got, receipt, err = c.take(ctx, try, wake, call, outage, s)
	returned = true
	return got, receipt, err
}

// take is an attempt in a lane, which it returns or has settled.
func (c *Counter) take(ctx context.Context, try Attempt, wake scripts.Wake, call lane.Call, outage time.Duration, s *standing) (got lane.Granted, receipt delivery.Receipt, err error) {
	take := try.Take(wake, s.called(), call)
	limit := delivery.Limit{Outage: outage}
	if !try.Unstored() {
		limit.Memory = resendWithin
	}
	got, receipt, err = delivery.Deliver(ctx, c.Session.Dispatch, take, limit)
	switch {
	case err != nil:
		if failure := delivery.AsFailure(err); failure.Doubt {
			s.failed()
			go c.abandon(try, take, call, failure, s)
		} else {
			s.unsent()
			c.Session.ReturnLane(c.Key, call)
		}
		return lane.Granted{}, receipt, err
	case !receipt.Doubt:
		c.Session.ReturnLane(c.Key, call)
	case got.Served == 0 || try.Unstored() && got.Served < try.Asks():
		// A copy that is still on its way may find enough by now, and what it takes nobody would give back. Nor would
		// anybody what an execution before the one that answered had taken for those who are not served any more.
		s.failed()
		go c.revoke(try, call, receipt.Sent, s)
		return lane.Granted{Again: -1}, receipt, nil
	case try.Unstored():
		if _, err := c.fenceWithin(ctx, call, outage); err != nil {
			s.failed()
			go c.revoke(try, call, receipt.Sent, s)
			return lane.Granted{}, receipt, err
		}
		c.Session.ReturnLane(c.Key, call)
	default:
		go c.settle(receipt.Sent, c.fence(call), func() { c.Session.ReturnLane(c.Key, call) })
	}
	s.answered(got, try.Asks())
	return got, receipt, nil
}

// abandon undoes an attempt whose caller has gone.
func (c *Counter) abandon(try Attempt, take scripts.Command[lane.Granted], call lane.Call, failure *delivery.Failure, s *standing) {
	if got, known := delivery.Result(failure, take); known && got.Served == 0 {
		c.Session.ReturnLane(c.Key, call)
		s.leave()
		return
	}
	c.revoke(try, call, failure.Sent, s)
}

// revoke undoes an attempt that was sent then, returns its lane, and takes its candidate out of the row. An attempt that is
// not stored in its lane is undone however long ago it was sent: the caller may have been patient for longer than the server
// remembers.
func (c *Counter) revoke(try Attempt, call lane.Call, sent time.Time, s *standing) {
	undo := c.undo(try, call, sent)
	over := func() {
		c.Session.ReturnLane(c.Key, call)
		s.leave()
	}
	if try.Unstored() {
		c.SettleFor(0, undo, over)
		return
	}
	c.settle(sent, undo, over)
}

// undo gives back what an attempt has taken that was sent then. In a lane that the server may have forgotten, it would not
// know what.
func (c *Counter) undo(try Attempt, call lane.Call, sent time.Time) func(context.Context) error {
	return func(ctx context.Context) error {
		if try.Unstored() {
			if err := c.fence(call)(ctx); err != nil {
				return err
			}
		}
		wake, err := c.Wake(ctx)
		if err != nil {
			return err
		}
		_, _, err = delivery.Deliver(ctx, c.Session.Dispatch, try.Undo(wake, next(call)), delivery.Limit{Outage: settleAttempt})
		if err == nil && !try.Unstored() && time.Since(sent) > settleWithin {
			return errForgotten
		}
		return err
	}
}
