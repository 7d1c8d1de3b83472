package counter

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/settings"
)

// A success is what an attempt has taken that served its seeker.
type success struct {
	attempt Attempt
	receipt delivery.Receipt
	beside  int64 // how many permits more, for the calls behind it
}

// tell tells the seeker that it was served. The permits may have been taken by an earlier send than the one
// that was answered, so long ago that the seeker has no use for them. That says nothing about how long the
// next attempt takes, so then the seeker asks anew.
func (r success) tell() error {
	err := r.attempt.Took(r.receipt.Sent)
	if err != nil && r.receipt.Doubt {
		return fmt.Errorf("%w (%w)", err, errLate)
	}
	return err
}

var errLate = errors.New("there was an outage")

// seek waits in the local queue, and answers by which path the permits came. found is what was found out
// before; nil if nothing was asked.
func (c *Counter) seek(ctx context.Context, set *settings.Settings, n int64, s Seeker,
	found error) (path redlatch.Path, err error) {
	queue, part := c.join(ctx, c.localQueue, set.Poll)
	defer part()
	defer c.want(queue, n)()
	w := &waiter{counter: c, set: set, seeker: s, n: n, queue: queue}
	w.request.Who = w
	if found != nil {
		queue.Note(found)
	}
	if err := queue.WaitFor(ctx, set.Poll, &w.request, w.ask); err != nil {
		if n > 1 { // there may be enough for the calls behind it, which want less
			queue.Wake()
		}
		return redlatch.PathFresh, unanswered(ctx, err, forCall(queue.Found(), n))
	}
	if given, is := w.request.Grant.(moved); is {
		s.Receive(given.gift)
		return given.path(), nil
	}
	got := w.request.Grant.(success)
	if got.beside > 0 {
		if rest := c.MoveKept(got.beside, nil); rest > 0 {
			s.Spare(rest)
		}
		queue.Wake() // the first call that was not served asks
	}
	return redlatch.PathFresh, got.tell()
}

// beside is how many permits the head may take for the calls behind it: all that they want if each wants what
// the head wants. Where one wants more than the others, permits for the calls behind that one would only have
// to be given back; so would all permits while outsiders are seen to listen.
func (w *waiter) beside() int64 {
	l, behind := lotOf(w.queue), int64(w.queue.Len()-1)
	if l == nil || w.set.Scripted || w.counter.defaults.Scripted || l.wanted.Load() != (behind+1)*w.n || l.closed() {
		return 0
	}
	return behind * w.n
}

// size is that of the semaphore, if a call in the queue knows it.
func (w *waiter) size() *lane.Size {
	if l := lotOf(w.queue); l != nil {
		return l.size.Load()
	}
	return nil
}

// ask is the attempt of the head. What it takes beside moves to the calls behind it when the head has left.
// Where it takes nothing beside, the next waiter asks at once: there may be enough for that one as well, and
// it is this question that has the process stand in the process queue.
func (w *waiter) ask(ctx context.Context) (cohort.Verdict, error) {
	try := w.seeker.Begin(w.beside(), w.size())
	got, receipt, err := w.counter.attempt(delivery.Watched(ctx, w.queue.Note), try, w.set.OutageFor(false),
		w.counter.candidate(w.queue, w.set))
	v := cohort.Verdict{Down: delivery.Outage(ctx, err), Sleep: cohort.Bound(got.Again, w.set.Poll)}
	if err == nil {
		err = w.counter.note(got, w.n)
	}
	switch {
	case err != nil:
		return v, err
	case !got.Served:
		v.Found = tooFew{got, w.n, w.n}
		return v, nil
	}
	w.counter.took(receipt.Sent)
	w.request.Grant = success{try, receipt, got.More}
	v.Done, v.More = true, got.More == 0
	// Of the calls behind it nothing new is known, but that there is a semaphore, and that a failure before
	// is over.
	if few, is := w.queue.Found().(tooFew); is && !missing(few) {
		v.Found = few
	}
	return v, nil
}
