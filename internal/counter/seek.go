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
	// Begin makes an attempt for the seeker, which may take so many permits beside for the calls that wait
	// behind it, and sets up a semaphore of that size where there is none; nil: of the seeker's own size, if it
	// knows one. What becomes of one in doubt is no concern of the next.
	Begin(beside int64, size *lane.Size) Attempt

	// Spare gives back permits that were taken beside and that no call has moved to, without waiting for it.
	Spare(n int64)

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

// An Attempt is one script that asks for what a seeker wants.
type Attempt interface {
	Take(wake scripts.Wake, candidate row.Candidate, call lane.Call) scripts.Command[lane.Granted]
	Undo(wake scripts.Wake, call lane.Call) scripts.Command[int64] // gives back all that Take has taken

	// Unstored tells how the server remembers a Take. Where it is false, the lane has the answer, and the
	// Undo of the attempt settles the Take in the lane. Where it is true, only what the Take took shows that
	// it was executed. A copy of the command could then be executed after the Undo, and take permits for a
	// call that has ended. So the Take is fenced first: after the fence no copy of it has an effect, and the
	// Undo finds all that it took. For the same reason a success is believed only behind a fence when a copy
	// may still be on its way.
	Unstored() bool

	Announces() bool // the Take may wake other waiters, and needs the message for it also where there is no candidate

	Owed() time.Duration // for how long the Undo of an unstored one is repeated; the usual time if that is longer

	Took(sent time.Time) error // tells the seeker, on its goroutine, that it was served; an error is the acquisition's
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

// A share is what an attempt has brought.
type share struct {
	attempt Attempt
	receipt delivery.Receipt
	beside  int64 // how many permits were taken for those behind
}

// take says to the seeker that it was served. What a send may have brought that was not answered, so long ago
// that the seeker has no use for it, says nothing about how long the next one takes: the seeker asks anew.
func (s share) take() error {
	err := s.attempt.Took(s.receipt.Sent)
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
	defer c.want(line, n).left(n)
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
	got := w.offer.Grant.(share)
	if got.beside > 0 {
		if left := c.MoveKept(got.beside, nil); left > 0 {
			s.Spare(left)
		}
		line.Wake() // who is behind those that were served asks
	}
	return settings.Fresh, got.take()
}

// beside is how many permits the head may take for those behind it: all that they want if each wants what the
// head wants. Where one wants more than the others, permits for those behind that one would only have to be
// given back; so would all permits while outsiders are seen to listen.
func (w *waiter) beside() int64 {
	l, behind := lotOf(w.line), int64(w.line.Len()-1)
	if l == nil || w.set.Scripted || w.counter.defaults.Scripted || l.wanted.Load() != (behind+1)*w.n || l.shut() {
		return 0
	}
	return behind * w.n
}

// size is that of the semaphore, if a call in the line knows it.
func (w *waiter) size() *lane.Size {
	if l := lotOf(w.line); l != nil {
		return l.size.Load()
	}
	return nil
}

// ask is the attempt of the head, and for permits without names of those behind it too: what is taken beside
// moves to them when the head has left. Else the next waiter asks at once: there may be enough for that one
// as well, and it is this question that has the process stand in the process queue.
func (w *waiter) ask(ctx context.Context) (cohort.Verdict, error) {
	try := w.seeker.Begin(w.beside(), w.size())
	got, receipt, err := w.counter.attempt(delivery.Watched(ctx, w.line.Note), try, w.set.OutageFor(false),
		w.counter.stand(w.line, w.set))
	v := cohort.Verdict{Down: delivery.Outage(ctx, err), Sleep: cohort.Bound(got.Again, w.set.Poll)}
	if err == nil {
		err = w.counter.note(got, w.n)
	}
	switch {
	case err != nil:
		return v, err
	case !got.Served:
		v.Found = tooFew{got, w.n}
		return v, nil
	}
	w.counter.took(receipt.Sent)
	w.offer.Grant = share{try, receipt, got.More}
	v.Done, v.More = true, got.More == 0
	// Of those behind it nothing new is known, but that there is a semaphore, and that a failure before is over.
	if few, is := w.line.Found().(tooFew); is && few.got.Short != lane.Missing {
		v.Found = few
	}
	return v, nil
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
	// A hook of the client may panic on this goroutine, and the lane would be lent for ever
	defer raise.Unless(&returned, func() {
		s.failed()
		go c.revoke(try, take, call, &delivery.Failure{Doubt: true, Sent: drawn}, s)
	})
	limit := delivery.Limit{Outage: outage, Patient: true}
	if !try.Unstored() {
		limit.Memory = resendWithin
	}
	got, receipt, err = delivery.Deliver(ctx, c.Session.Dispatch, take, limit)
	// Nil: it is known what it has taken, and a copy of the command cannot take anything any more
	var doubt *delivery.Failure
	switch {
	case err != nil:
		if failure := delivery.AsFailure(err); failure.Doubt {
			doubt = failure
		}
	case !receipt.Doubt:
	// A copy that is still on its way may find enough by now, and nothing would give back what it takes
	case !got.Served:
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
		s.answered(got.Served)
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
	if got, known := delivery.Result(doubt, take); known && !got.Served {
		over()
		return
	}
	// However long ago it was sent: the caller may have been patient for longer than the server remembers
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
