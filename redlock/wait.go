package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/session"
)

// The pauses between two rounds of a waiter that the chair has not told to wait. Their jitter of a half parts
// two waiters that have split the votes.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = 250 * time.Millisecond
)

func pauses() func() time.Duration {
	policy := backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(mostPause),
		backoff.WithMaxElapsedTime(0))
	return func() time.Duration { return min(policy.NextBackOff(), mostPause) }
}

// withoutVote is how often, at least, a waiter that stands in the chair's queue asks the others in the time
// of WithPoll. What the chair knows may be left of a process that has died.
const withoutVote = 6

// nextWithout is when a waiter that stands in that queue makes its next round.
func (c *call) nextWithout() time.Time {
	most := max(c.Set.Poll/withoutVote, 2*firstPause)
	return time.Now().Add(most/2 + jitter.Below(most/2))
}

// A waiter is a call that has a place in the local queue. While it is the head it waits for the vote and
// makes rounds.
type waiter struct {
	*call
	queue *cohort.Cohort
	got   *quorum.Hold

	vote    *vote     // nil: it waits for none
	voting  time.Time // since when it waits for the vote
	due     time.Time // when it makes the next round while the chair has not answered
	without time.Time // when it makes the next round while it stands in the chair's queue, without the vote
	pause   func() time.Duration
	yields  time.Time // until when the lock is left to other processes
	yielded bool      // they have had that time
	trouble time.Time // since when too few servers have answered; zero: enough do
}

// wait takes a place in the local queue. last is what a round before the wait came to; nil if there was none.
func (c *call) wait(ctx context.Context, last *result) (*quorum.Hold, error) {
	w := &waiter{call: c, pause: pauses(), without: c.nextWithout()}
	var request *cohort.Request
	if c.again {
		w.queue, w.due = &cohort.Cohort{Queue: cohort.NewQueue(nil)}, time.Now().Add(w.pause())
	} else {
		shared, held, part := c.Bases[0].Session.Join(c.Line,
			session.Channels{Kind: string(redlatch.KindRedlock)})
		defer part()
		w.queue, request = shared, c.Request(held)
		if held {
			w.queue.Note(ours)
		}
	}
	if last != nil {
		w.queue.Note(last.err)
		if last.broken {
			w.trouble = time.Now()
		}
		if last.yielded { // the process that has the vote has asked by then
			w.without = time.Now().Add(w.pause())
		}
	}
	defer func() {
		if w.vote != nil {
			w.vote.abandon()
		}
	}()
	err := w.queue.WaitFor(ctx, c.Set.Poll, request, w.attempt)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = c.Over(ctx, err, w.queue.Found())
	case err == nil && w.got == nil:
		w.got = request.Grant.(*quorum.Hold)
	}
	return w.got, err
}

var ours = errs.Refusal("is held by this process")

// attempt is what the head does when it is its time.
func (w *waiter) attempt(ctx context.Context) (cohort.Verdict, error) {
	if w.queue.Yields() {
		w.yields, w.yielded = time.Now().Add(locking.YieldFor), true
	}
	if left := time.Until(w.yields); left > 0 {
		return cohort.Verdict{Sleep: left, Found: errs.Refusal("is left to other processes for a moment")}, nil
	}
	if early := w.early(ctx); early > 0 {
		return cohort.Verdict{Sleep: early, Found: w.queue.Found()}, nil
	}
	v := w.vote
	if v != nil && !v.isKnown() {
		v.probe(ctx, w.queue.Wake)
	}
	r := w.round(ctx, quorum.Before{Alone: w.yielded, Kept: w.queue.ClosedSince()}, v)
	w.yielded, w.due, w.without = false, time.Now().Add(w.pause()), w.nextWithout()
	if v != nil && v.used {
		w.vote = nil
	}
	if r.hold == nil {
		w.queue.CloseSince(time.Time{})
	}
	if found := r.known(); found != nil {
		w.queue.Note(found)
	}
	switch {
	case r.hold != nil:
		w.got = r.hold
		w.lock.contended.Store(v != nil && v.isKnown() && v.passed)
		return cohort.Verdict{Done: true, Sleep: w.Poll(), Found: ours}, nil
	case ctx.Err() != nil:
		return cohort.Verdict{}, ctx.Err()
	case r.instant:
		return cohort.Verdict{}, r.err
	case !r.broken:
		w.trouble = time.Time{}
	case w.trouble.IsZero():
		w.trouble = time.Now()
	case time.Since(w.trouble) >= w.Set.OutageFor(false):
		return cohort.Verdict{}, r.err
	}
	return cohort.Verdict{Sleep: max(time.Until(w.due), time.Millisecond), Found: r.err}, nil
}

// early is for how long the next round is not due yet. It has the call wait for the vote, of another chair
// when the one that it stands at is down.
func (w *waiter) early(ctx context.Context) time.Duration {
	if w.vote != nil && !w.vote.isKnown() {
		if !w.vote.queues() && time.Since(w.voting) >= w.nodeTimeout() {
			w.vote.node().base.Session.Down.Store(true)
		}
		if w.vote.chair != w.lock.chair() {
			w.vote.abandon()
			w.vote = nil
		}
	}
	if w.vote == nil {
		if early := time.Until(w.due); early > 0 || w.again {
			return early
		}
		w.vote, w.voting = w.awaitVote(ctx, w.queue.Wake), time.Now()
	}
	switch {
	case w.vote.isKnown():
		return 0
	case w.vote.queues():
		return time.Until(w.without)
	}
	early := max(time.Until(w.due), time.Until(w.voting.Add(w.nodeTimeout())))
	if look := time.Until(w.without); look > 0 { // it may stand in the queue by then
		early = min(early, look)
	}
	return early
}
