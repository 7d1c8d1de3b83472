package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/settings"
)

// A stand is one call that waits in the queue of a fair lock. Unlike other waiters it has one identity from the first
// attempt on, for that is what stands in the queue, and a channel of its own.
type stand struct {
	owner  *owner
	queue  *fairqueue.Queue
	waiter *fairqueue.Waiter // nil until there is an entry in Redis

	failure *delivery.Failure // of the last attempt
	command scripts.Command[scripts.Attempt]
}

// standAnew stands until the lock is held, in a new place after an outage that cost the last one.
func (b *Base) standAnew(ctx context.Context, set *settings.Settings) (*hold, error) {
	var t trouble
	defer b.watchOwn(set)()
	for {
		h, err := b.stand(ctx, set)
		if !t.passes(ctx, set, err) {
			return h, err
		}
		last := err
		if err := pause(ctx, troublePause); err != nil {
			return nil, b.unanswered(ctx, err, delivery.Unavailable(last))
		}
	}
}

// stand waits in one place.
func (b *Base) stand(ctx context.Context, set *settings.Settings) (*hold, error) {
	queue, part := b.Session.Queue(b.line)
	defer part()
	// The hub has to know which family of channels is in use. If it does not, this waiter polls to its end.
	_, _ = b.Session.PublishFor(ctx, set.Poll)
	s := &stand{owner: newOwner(b, set), queue: queue}
	s.owner.queued = true
	returned := false
	defer func() { // a hook of the client may panic on this goroutine, and nobody comes after one who stands for ever
		if !returned {
			s.owner.doubted()
			s.leave()
		}
	}()
	h, err := s.wait(delivery.Watched(ctx, queue.Door.Note))
	returned = true
	if h == nil {
		s.leave()
		found := queue.Door.Found()
		if found == nil && s.waiter != nil {
			found = refusal(-1)
		}
		return nil, b.unanswered(ctx, err, found)
	}
	queue.Door.Note(refusal(-1)) // to the others of this process
	s.owner.dequeued()
	return h, nil
}

func (s *stand) wait(ctx context.Context) (*hold, error) {
	h, err := s.enter(ctx)
	if h != nil || err != nil {
		return h, err
	}
	b := s.owner.base
	confirmed, stop := b.Session.Listen(b.channel+":"+s.owner.id, s.hear, s.waiter.Wake)
	defer stop()
	for {
		task, others, err := s.waiter.Next(ctx, &confirmed)
		switch {
		case err != nil:
			return nil, err
		case task == fairqueue.Again:
			h, err = s.enter(ctx)
		default:
			h, err = s.ask(ctx, task, others)
		}
		if h != nil || err != nil {
			return h, err
		}
	}
}

// enter is an attempt that makes an entry, in turn with others of this process who do: entries stand in the order in
// which the calls came.
func (s *stand) enter(ctx context.Context) (h *hold, err error) {
	err = s.queue.Door.Wait(ctx, 0, func(ctx context.Context) (cohort.Verdict, error) {
		h, err = s.ask(ctx, fairqueue.Again, nil)
		return cohort.Verdict{Done: true, More: true, Found: s.queue.Door.Found()}, err
	})
	return h, err
}

func (s *stand) ask(ctx context.Context, task fairqueue.Task, others []*fairqueue.Waiter) (*hold, error) {
	o, set := s.owner, s.owner.set
	subject := o.subject(1, set.FirstLease())
	subject.Wake, _ = o.base.wake(ctx) // without, whoever is next finds out by polling
	var answer fairlock.Answer
	s.command = scripts.Map(o.base.Kind.Fair.Ask(subject, others), func(a fairlock.Answer) scripts.Attempt {
		answer = a
		return scripts.Attempt{Held: a.Held, Remaining: a.Again}
	})
	asked := time.Now()
	h, again, err := o.base.attemptAs(ctx, o, s.command, false)
	switch {
	case err != nil:
		s.failure = delivery.AsFailure(err)
		return nil, err
	case h != nil && s.waiter != nil:
		s.waiter.Serve(time.Now().Add(untilEnd(set.FirstLease(), set.Poll)))
	case h != nil:
	case s.waiter == nil:
		defer s.queue.Door.Note(refusal(again))
		s.waiter = s.queue.Enter(o.id, set.Patience, idle(again, set.Poll, answer.Place))
	default:
		defer s.queue.Door.Note(refusal(again))
		s.waiter.Answer(task, asked, idle(again, set.Poll, answer.Place), answer.Place, others, answer.Places)
	}
	return h, nil
}

// hear is for a message on the waiter's channel: that the lock may be free, or that the waiter is next and how long the
// present holder's lease lasts.
func (s *stand) hear(message string) {
	if lease := fairlock.LeaseOf(message); lease > 0 {
		s.waiter.Told(untilEnd(lease, s.owner.set.Poll))
		return
	}
	s.waiter.Wake()
}

// idle is how long to sleep without a message, at that place in the queue. It is not shorter than poll unless the server
// said so, for a process asks at most once in that time.
func idle(again, poll time.Duration, place int) time.Duration {
	switch {
	case again < 0 || again >= poll:
		return poll
	case place == 0:
		return untilEnd(again, poll)
	}
	return cohort.Bound(again, poll)
}

// untilEnd is how long whoever is next sleeps where the holder has so much of its lease left. Nobody else may take the
// lock then, so there is no crowd to be spread. The server counts whole milliseconds.
func untilEnd(lease, poll time.Duration) time.Duration {
	return min(max(lease+time.Millisecond, leastUntilEnd), poll)
}

// leastUntilEnd keeps a waiter from asking without pause when the server and this process count differently.
const leastUntilEnd = 5 * time.Millisecond

// leaveWithin is how long a call whose wait is over stays to see its entry removed. A process that ends right after it
// leaves nothing behind then. It is short, because the server may be why the wait was in vain.
const leaveWithin = 10 * time.Millisecond

// leave takes the owner out of the queue, and gives back what an attempt may have brought. The waiter leaves the
// process's queue first: the script wakes whoever is next, and if that is another of ours who does not hear it yet, it
// must already know that it is the front.
func (s *stand) leave() {
	if s.waiter != nil {
		s.waiter.Leave()
	}
	o := s.owner
	doubt := s.failure != nil && s.failure.Doubt
	if s.waiter == nil && !doubt {
		o.dequeued() // nothing was executed, or it was undone
		return
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		if doubt {
			if _, known := delivery.Result(s.failure, s.command); !known {
				o.doubted()
			}
		}
		o.dequeued()
		o.giveUp()
	}()
	timer := time.NewTimer(leaveWithin)
	defer timer.Stop()
	select {
	case <-left:
	case <-timer.C:
	}
}

// dequeued says that the owner waits no longer, and has what is in doubt settled.
func (o *owner) dequeued() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queued = false
	if o.doubt != nil && time.Now().Before(o.doubt.ghosts) {
		o.planLocked()
	}
}
