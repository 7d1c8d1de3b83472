package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/session"
)

// The pauses between two attempts of a waiter. Their jitter of a half parts two waiters that have split the votes.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = 250 * time.Millisecond
)

func pauses() func() time.Duration {
	var policy *backoff.ExponentialBackOff // most waiters need none
	return func() time.Duration {
		if policy == nil {
			policy = backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(mostPause),
				backoff.WithMaxElapsedTime(0))
		}
		return min(policy.NextBackOff(), mostPause)
	}
}

func (c *call) acquire(ctx context.Context) (*quorum.Hold, error) {
	if err := ctx.Err(); err != nil {
		return nil, c.ended(ctx, err, nil)
	}
	carried := quorum.Carried(ctx)
	first := c.lock.nodes[0].base
	c.again = c.Carries(ctx)
	if !c.again {
		waited, held, _ := first.Session.Cohorts.Busy(c.lock.line, false)
		switch {
		case waited && c.try:
			if err := c.behind(ctx); err != nil {
				return nil, err
			}
		case waited, held && !c.try:
			return c.wait(ctx, carried, nil)
		}
	}
	r := c.round(ctx, carried, quorum.Before{}, false)
	switch {
	case r.hold != nil:
		return r.hold, nil
	case r.instant && ctx.Err() == nil:
		return nil, r.err
	case ctx.Err() != nil:
		return nil, c.ended(ctx, ctx.Err(), r.known())
	case c.try:
		return nil, r.err
	}
	return c.wait(ctx, carried, &r)
}

// behind is for a try while other calls of this process wait, which it must not overtake. It returns what those have found
// out, or nil when no call waits any more.
func (c *call) behind(ctx context.Context) error {
	refused, err := c.lock.nodes[0].base.Session.Behind(ctx, c.lock.line, c.set.OutageFor(true))
	switch {
	case err != nil && ctx.Err() != nil:
		return c.ended(ctx, err, nil)
	case err != nil:
		return fmt.Errorf("redlatch: redlock %q: %w", c.lock.name, err)
	case refused:
		return fmt.Errorf("%w: redlock %q: others of this process are waiting for it", errs.NotAcquired, c.lock.name)
	}
	return nil
}

// wait takes a place in the local queue, whose head makes the rounds. It makes one when its pause is over, and one when a message
// on the first server says that the lock was given back. Then the heads of all processes make one at the same time, and if they
// all asked all servers each would get some of them. So they ask the first server first, and only that one goes on which gets it.
func (c *call) wait(ctx context.Context, carried []*quorum.Hold, last *result) (got *quorum.Hold, err error) {
	first := c.lock.nodes[0].base
	next := pauses()
	var due time.Time // when the pause is over
	sleep := func(d time.Duration) time.Duration {
		due = time.Now().Add(d)
		return d
	}
	pause := func() time.Duration { return sleep(next()) }
	var trouble time.Time // since when too few have answered
	if last != nil && last.broken {
		trouble = time.Now()
	}
	var (
		line    *cohort.Cohort
		request *cohort.Request
	)
	if c.again {
		line = &cohort.Cohort{Queue: cohort.NewQueue(nil)}
	} else {
		shared, held, part := first.Session.Join(c.lock.line, session.Channels{Noun: noun, Releases: keys.LockChannel(first.Key)})
		defer part()
		line, request = shared, c.Request(held)
		if held {
			line.Note(ours)
		}
	}
	if last != nil {
		line.Note(last.err)
	}
	var (
		deaf    time.Time // until when a message makes no round: other processes are to ask, or the message is this waiter's own
		why     error     // what the waiter says of the lock until then
		yielded bool      // other processes have had the time to ask
	)
	attempt := func(ctx context.Context) (cohort.Verdict, error) {
		if line.Yields() {
			deaf, yielded = time.Now().Add(baselock.YieldFor), true
			why = errs.Refusal("is left to other processes for a moment")
		}
		if left := time.Until(deaf); left > 0 {
			return cohort.Verdict{Sleep: sleep(left), Found: why}, nil
		}
		r := c.round(ctx, carried, quorum.Before{Alone: yielded, Kept: line.ClosedSince()}, time.Now().Before(due))
		yielded = false
		if r.hold == nil {
			line.CloseSince(time.Time{})
		}
		if found := r.known(); found != nil {
			line.Note(found)
		}
		switch {
		case r.hold != nil:
			got = r.hold
			return cohort.Verdict{Done: true, Found: ours}, nil
		case ctx.Err() != nil:
			return cohort.Verdict{}, ctx.Err()
		case r.instant:
			return cohort.Verdict{}, r.err
		case !r.broken:
			trouble = time.Time{}
		case trouble.IsZero():
			trouble = time.Now()
		case time.Since(trouble) >= c.set.OutageFor(false):
			return cohort.Verdict{}, r.err
		}
		v := cohort.Verdict{Sleep: pause(), Found: r.err}
		if r.told { // else that message would wake this waiter, round after round, without a pause
			deaf, why = due, r.err
		}
		return v, nil
	}
	err = line.Poll(ctx, pause, request, attempt)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = c.ended(ctx, ctx.Err(), line.Found())
	case err == nil && got == nil:
		got = request.Grant.(*quorum.Hold)
	}
	return got, err
}

var ours = errs.Refusal("is held by this process")
