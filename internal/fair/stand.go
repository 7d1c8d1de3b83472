package fair

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// InOrder is how a fair lock is acquired and given back: each waiter stands in a queue in Redis.
type InOrder struct {
	locking.Plainly
	// Ask is Acquire for an owner who waits: it is put into the queue, and the entries of the others are
	// confirmed. Release takes it out.
	Ask func(s baselock.Subject, others []*fairqueue.Waiter, load fairlock.Load) scripts.Command[fairlock.Answer]
	// Turn is Release for a process in which others wait.
	Turn func(s baselock.Subject, load fairlock.Load) scripts.Command[fairlock.Turn]
}

// Acquire stands in the queue. A call that does not wait asks.
func (q *InOrder) Acquire(ctx context.Context, b *baselock.Base, set *settings.Settings,
	try bool) (*baselock.Hold, error) {
	if try {
		return q.Plainly.Acquire(ctx, b, set, true)
	}
	return q.standAnew(ctx, b, set)
}

// A stand is one call that waits in the queue of a fair lock. Unlike other waiters it has one identity from
// the first attempt on, for that is what stands in the queue.
type stand struct {
	locking.Caller
	ways   *InOrder
	tenure *baselock.Tenure
	queue  *fairqueue.Queue
	waiter *fairqueue.Waiter

	confirmed <-chan struct{} // nil, or closed once messages arrive
	stop      func()          // ends the subscription to its own channel, if there is one
	failure   *delivery.Failure
	command   scripts.Command[scripts.Attempt]
}

// standAnew stands until the lock is held, in a new place after an outage that cost the last one.
func (q *InOrder) standAnew(ctx context.Context, b *baselock.Base, set *settings.Settings) (*baselock.Hold, error) {
	var t locking.Trouble
	defer locking.WatchOwn(b, set)()
	for {
		h, err := q.stand(ctx, b, set)
		if !t.Passes(ctx, set, err) {
			return h, err
		}
		last := err
		if err := clock.Sleep(ctx, locking.TroublePause); err != nil {
			return nil, &errs.Unanswered{Err: err, Found: delivery.Unavailable(last)}
		}
	}
}

// stand waits in one place.
func (q *InOrder) stand(ctx context.Context, b *baselock.Base, set *settings.Settings) (*baselock.Hold, error) {
	queue, part := b.Session.Queue(b.Line)
	defer part()
	id := b.Session.NextOwner()
	if !locking.Passable(set) {
		id = b.Session.ID + ":-" + fairqueue.Number(id) // no script hands the lock to such an owner
	}
	s := &stand{Caller: locking.Caller{Base: b, Set: set}, ways: q, tenure: baselock.NewTenureAs(b, set, id), queue: queue,
		stop: func() {}}
	s.tenure.Queued = true
	_, held := b.Session.Cohorts.HeldSince(b.Line)
	lonely := false
	if s.waiter, lonely = queue.Come(id, set.Patience, &s.Caller, held); !lonely {
		s.listen()
	}
	returned := false
	// A hook of the client may panic here, and no waiter comes after one that stands for ever.
	defer raise.Unless(&returned, func() {
		s.tenure.Doubted()
		s.waiter.Fail()
		s.leave()
	})
	defer func() { s.stop() }()
	h, err := s.wait(delivery.Watched(ctx, queue.Note))
	returned = true
	if h == nil {
		h = s.leave()
	}
	if h == nil {
		found := queue.Found()
		if stood, _ := s.waiter.Stood(); found == nil && stood {
			found = locking.Refusal(-1)
		}
		return nil, &errs.Unanswered{Err: err, Found: found, Waited: s.waiter.Waited()}
	}
	queue.Note(locking.Refusal(-1)) // to the others of this process
	if _, doubt := s.waiter.Stood(); doubt {
		s.tenure.Doubted()
	}
	s.tenure.Dequeued()
	return h, nil
}

func (s *stand) wait(ctx context.Context) (*baselock.Hold, error) {
	for {
		plan, err := s.waiter.Next(ctx, &s.confirmed)
		if err != nil && plan.Task == fairqueue.Nothing {
			return nil, err
		}
		var h *baselock.Hold
		switch plan.Task {
		case fairqueue.Served:
			return plan.Grant.(*baselock.Hold), nil
		case fairqueue.Handed:
			h = s.take(plan.Handed)
		case fairqueue.Listen:
			s.confirmed, s.stop = s.Session.Listen(s.Channel+":"+s.tenure.ID, s.hear,
				s.queue.Missed)
			s.waiter.Listens()
			continue
		case fairqueue.Enter:
			h, err = s.enter(ctx, plan.Carry)
		default:
			h, err = s.ask(ctx, plan)
		}
		if h != nil || err != nil {
			return h, err
		}
	}
}

// enter is the first attempt, which makes an entry for this waiter and for those that came after it.
func (s *stand) enter(ctx context.Context, carry *fairqueue.Carry) (*baselock.Hold, error) {
	load := loadOf(carry)
	load.Arrivals = load.Arrivals[1:]
	asked := clock.Now()
	outcome := fairqueue.Unknown
	var again time.Duration
	var at int64
	settled := false
	defer func() {
		if !settled {
			s.queue.Carried(carry, outcome, asked, at, again)
		}
	}()
	h, answer, err := s.send(ctx, nil, load)
	if err != nil {
		if !s.failure.Doubt {
			outcome = fairqueue.Undone
			return nil, err
		}
		settled = true
		failure, command := s.failure, s.command
		s.failure = nil // what became of it is known when Carry.Done is closed
		go func() {
			reply, known := delivery.Result(failure, command)
			outcome := fairqueue.Unknown
			if known && reply.Held { // the waiter gives it back
				outcome = fairqueue.Twice
			} else if known {
				outcome = fairqueue.Done
			}
			s.queue.Carried(carry, outcome, asked, 0, s.Set.Poll)
		}()
		return nil, err
	}
	again = s.idle(answer)
	at = answer.At
	// This is the owner's first command, so an earlier send of it is what the doubt is about.
	switch doubt := s.tenure.InDoubt(); {
	case answer.Whole && doubt:
		outcome = fairqueue.Twice
	case answer.Whole:
		outcome = fairqueue.Done
	case !doubt:
		outcome = fairqueue.Undone
	}
	if h != nil {
		s.waiter.Serve(time.Now().Add(untilEnd(s.Set.FirstLease(), s.Set.Poll)), answer.Row)
		return h, nil
	}
	s.queue.Note(locking.Refusal(answer.Again))
	s.listen()
	return nil, nil
}

// listen has the process hear which of its waiters is handed the lock.
func (s *stand) listen() {
	b, queue, poll := s.Base, s.queue, s.Set.Poll
	s.confirmed = b.Session.ListenFor(b.Line, keys.FairRow(b.Key), func(message string) { heard(b, queue, message, poll) },
		queue.Missed)
}

// loadOf is what a command carries.
func loadOf(c *fairqueue.Carry) fairlock.Load {
	load := fairlock.Load{Finished: c.Finished}
	for _, w := range c.Arrivals {
		load.Arrivals = append(load.Arrivals, fairlock.Waiter{Owner: w.Owner, Patience: w.Patience})
	}
	return load
}

// ask asks for a waiter that has, or had, an entry.
func (s *stand) ask(ctx context.Context, plan fairqueue.Plan) (*baselock.Hold, error) {
	asked := clock.Now()
	h, answer, err := s.send(ctx, plan.Others, fairlock.Load{})
	switch {
	case err != nil:
		s.waiter.Fail()
		return nil, err
	case h != nil:
		s.waiter.Serve(time.Now().Add(untilEnd(s.Set.FirstLease(), s.Set.Poll)), answer.Row)
		return h, nil
	}
	s.queue.Note(locking.Refusal(answer.Again))
	s.waiter.Answer(plan.Task, asked, answer.At, answer.Foreign, s.idle(answer), answer.Place, plan.Others,
		answer.Places)
	return nil, nil
}

func (s *stand) send(ctx context.Context, others []*fairqueue.Waiter,
	load fairlock.Load) (h *baselock.Hold, answer fairlock.Answer, err error) {
	t := s.tenure
	subject := t.Subject(1, s.Set.FirstLease())
	s.command = scripts.Map(s.ways.Ask(subject, others, load), func(a fairlock.Answer) scripts.Attempt {
		answer = a
		return scripts.Attempt{Held: a.Held, Remaining: a.Again}
	})
	h, _, err = locking.AttemptAs(ctx, t, s.command, false)
	if err != nil {
		s.failure = delivery.AsFailure(err)
	}
	return h, answer, err
}

// take holds what was handed to the owner by a release. A message that comes too late for that is answered by
// asking, at the end of the queue or, while the lease lasts, as the owner that has the lock.
func (s *stand) take(handed *fairqueue.HandedTo) *baselock.Hold {
	t := s.tenure
	since, now := s.queue.Since(handed), clock.Now()
	trusted := since.Add(fairlock.Handed - watchdog.Margin(fairlock.Handed))
	if !now.Before(trusted) {
		s.waiter.Late()
		return nil
	}
	t.Streak = t.Base.Begins(cohort.Streak{Began: now, News: since, Blur: cohort.Blurred})
	s.waiter.Serve(time.Now().Add(untilEnd(s.Set.FirstLease(), s.Set.Poll)), handed.Row[1:])
	h := t.Begin(now, trusted, scripts.Attempt{})
	h.Path = baselock.Passed
	return h
}

// hear is for a message on the waiter's own channel: that the lock may be free.
func (s *stand) hear(message string) {
	if lease := fairlock.LeaseOf(message); lease > 0 {
		s.queue.Told(fairqueue.Number(s.tenure.ID), untilEnd(lease, s.Set.Poll))
		return
	}
	s.queue.Wake(fairqueue.Number(s.tenure.ID))
}

// heard is for a message on the channel of this process.
func heard(b *baselock.Base, queue *fairqueue.Queue, message string, poll time.Duration) {
	m, ok := fairlock.Read(message)
	switch {
	case !ok:
	case m.Void:
		queue.Void()
	case m.Lease > 0:
		queue.Told(m.Wakes, untilEnd(m.Lease, poll))
	case m.Wakes != "":
		b.Dismiss(queue.Wake(m.Wakes))
	default:
		b.Dismiss(queue.Hand(&fairqueue.HandedTo{Row: m.Row, At: m.At}))
	}
}

// foreignPoll is how often a process asks that may stand behind a waiter of Redisson's which can be told that
// the lock is free. One whose time is over at that moment leaves the queue and tells no other.
const foreignPoll = time.Second

// idle is how long to sleep after an answer, without a message.
func (s *stand) idle(a fairlock.Answer) time.Duration {
	poll := s.Set.Poll
	if a.Leaves && a.Place != 0 {
		poll = min(poll, foreignPoll)
	}
	return idle(a.Again, poll, a.Place)
}

// idle is how long to sleep without a message, at that place in the queue. It is not shorter than poll unless
// the server said so, for a process asks at most once in that time.
func idle(again, poll time.Duration, place int) time.Duration {
	switch {
	case again < 0 || again >= poll:
		return poll
	case place == 0:
		return untilEnd(again, poll)
	}
	return cohort.Bound(again, poll)
}

// untilEnd is how long the next in the queue sleeps where the holder has so much of its lease left. No other
// waiter may take the lock then, so there is no crowd to be spread. The server counts whole milliseconds.
func untilEnd(lease, poll time.Duration) time.Duration {
	return min(max(lease+time.Millisecond, leastUntilEnd), poll)
}

// leastUntilEnd keeps a waiter from asking without pause when the server and this process count differently.
const leastUntilEnd = 5 * time.Millisecond

// leaveWithin is how long a call whose wait is over stays to see its entry removed. A process that ends right
// after it leaves nothing behind then. It is short, because the server may be why the wait was in vain.
const leaveWithin = 10 * time.Millisecond

// leave takes the stand out of the queue, and gives back what an attempt may have brought. The waiter leaves
// the process's queue first: the script wakes the next in the queue, and if that is another of ours who does
// not hear it yet, it must already know that it is the front. A waiter that was given the lock at the same
// moment has it.
func (s *stand) leave() *baselock.Hold {
	grant, carry := s.waiter.Leave()
	if grant != nil {
		return grant.(*baselock.Hold)
	}
	t := s.tenure
	doubt := s.failure != nil && s.failure.Doubt
	if carry == nil && !doubt {
		t.Dequeued() // nothing was executed, or it was undone
		return nil
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		if doubt {
			if _, known := delivery.Result(s.failure, s.command); !known {
				t.Doubted()
			}
		}
		if carry != nil {
			<-carry.Done
			if carry.Doubt {
				t.Doubted()
			}
		}
		t.Dequeued()
		t.GiveUp()
	}()
	timer := time.NewTimer(leaveWithin)
	defer timer.Stop()
	select {
	case <-left:
	case <-timer.C:
	}
	return nil
}
