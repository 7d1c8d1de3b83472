package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/rootapi"
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

// A result is what a round came to.
type result struct {
	hold    *quorum.Hold // nil when it failed
	err     error
	broken  bool // too few servers answered, so it is not known whether the lock is held
	instant bool // asking again cannot help
}

func (c *call) acquire(ctx context.Context) (*quorum.Hold, error) {
	if c.set.Wait > 0 && !c.try {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.set.Wait)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return nil, c.ended(ctx, err, nil)
	}
	carried := quorum.Carried(ctx)
	first := c.lock.nodes[0].base
	c.again = c.carriedIn(ctx)
	if !c.again {
		waited, held, _ := first.Session.Cohorts.Busy(c.lock.line)
		switch {
		case waited && c.try:
			if err := c.behind(ctx); err != nil {
				return nil, err
			}
		case waited, held && !c.try:
			return c.wait(ctx, carried, nil)
		}
	}
	r := c.round(ctx, carried, false)
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

// known is what a round found out before ctx may have cut it off; nil: nothing.
func (r *result) known() error {
	if errors.Is(r.err, errs.NotAcquired) || errors.Is(r.err, errs.Unavailable) || errors.Is(r.err, errs.Invalid) {
		return r.err
	}
	return nil
}

// behind is for a try while other calls of this process wait, which it must not overtake. It returns what those have found
// out, or nil when no call waits any more.
func (c *call) behind(ctx context.Context) error {
	found, err := c.lock.nodes[0].base.Session.Behind(ctx, c.lock.line, c.set.OutageFor(true))
	switch {
	case err != nil && ctx.Err() != nil:
		return c.ended(ctx, err, nil)
	case err != nil:
		return fmt.Errorf("redlatch: redlock %q: %w", c.lock.name, err)
	case errors.Is(found, errs.NotAcquired):
		return fmt.Errorf("%w: redlock %q: others of this process are waiting for it", errs.NotAcquired, c.lock.name)
	case found != nil:
		return fmt.Errorf("redlatch: redlock %q: others of this process are waiting for it, and their last attempt failed: %w", c.lock.name, found)
	}
	return nil
}

// carriedIn tells whether ctx carries the lock.
func (c *call) carriedIn(ctx context.Context) bool {
	for _, n := range c.lock.nodes {
		if n.base.Carries(ctx) {
			return true
		}
	}
	return false
}

// wait takes a place in the local queue, whose head makes the rounds.
func (c *call) wait(ctx context.Context, carried []*quorum.Hold, last *result) (got *quorum.Hold, err error) {
	first := c.lock.nodes[0].base
	pause := pauses()
	var trouble time.Time // since when too few have answered
	if last != nil && last.broken {
		trouble = time.Now()
	}
	var (
		line    *cohort.Queue
		request *cohort.Request
	)
	if c.again {
		line = cohort.NewQueue(nil)
	} else {
		shared, held, part := first.Session.Join(c.lock.line, session.Channels{})
		defer part()
		line, request = shared.Queue, &cohort.Request{Who: c, Expected: held, Poll: c.Poll()}
		if held {
			line.Note(ours)
		}
	}
	if last != nil {
		line.Note(last.err)
	}
	yielded := false // other processes have had the time to ask
	attempt := func(ctx context.Context) (cohort.Verdict, error) {
		if line.Yields() {
			yielded = true
			return cohort.Verdict{Sleep: baselock.YieldFor, Found: errs.Refusal("is left to other processes for a moment")}, nil
		}
		r := c.round(ctx, carried, yielded)
		yielded = false
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
		return cohort.Verdict{Sleep: pause(), Found: r.err}, nil
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

// An answer is what one node said in a round.
type answer struct {
	place  int // of the node
	member quorum.Member
	err    *NodeError   // nil when it granted
	wrong  error        // the call itself makes no sense
	raised *raise.Panic // what the attempt has panicked with
}

// round asks all nodes at the same time, once, and returns when it is decided. Later answers are dealt with in the
// background. If an attempt has panicked by then, round gives back what was granted and panics with the same value. alone says
// that other processes have had the time to take the lock and did not.
func (c *call) round(ctx context.Context, carried []*quorum.Hold, alone bool) result {
	l, start := c.lock, time.Now()
	answers := make(chan answer, len(l.nodes))
	// ctx ends the round, but not the attempts that go on after it: servers that have not answered by then are to join the hold.
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	follows := context.AfterFunc(ctx, stop)
	for i, n := range l.nodes {
		var a answer
		raise.Go(func() { a = c.askInTurn(asking, n, carried) }, func(raised *raise.Panic) {
			if a.raised = raised; raised != nil {
				a.err = &NodeError{Node: n.label, Err: raised}
			}
			a.place = i
			answers <- a
		})
	}
	var (
		granted  []quorum.Member
		failures []error
		wrong    error
		late     error // why the grants are worth nothing any more
		silent   int   // nodes that have not answered as a lock does
		hopeless int
		pending  = len(l.nodes)
		heard    = make([]bool, len(l.nodes))
		raised   *raise.Panic
	)
	for raised == nil && len(granted) < l.need && len(granted)+pending >= l.need {
		a := <-answers
		pending--
		heard[a.place] = true
		if a.err == nil {
			granted = append(granted, a.member)
			continue
		}
		failures, raised = append(failures, a.err), a.raised
		if !a.err.Refused {
			silent++
		}
		if a.err.hopeless() {
			hopeless++
		}
		if a.wrong != nil {
			wrong = a.wrong
		}
	}
	if len(granted) == l.need {
		if c.valid(granted) {
			follows()
			awaited := map[any]chan struct{}{}
			for i, n := range l.nodes {
				if !heard[i] {
					awaited[n.key()] = make(chan struct{})
				}
			}
			h := c.hold(start, granted, awaited, alone)
			go c.settle(h, answers, awaited, pending, stop)
			return result{hold: h}
		}
		late = delivery.Unavailable(errors.New("the answers took longer than the lease lasts; ask for a longer lease"))
		failures = append(failures, late)
	}
	go c.settle(nil, answers, nil, pending, func() {
		follows()
		stop()
	})
	if raised != nil {
		c.giveBack(raise.Background(ctx, c.log()), granted)
		panic(raised)
	}
	c.giveBack(ctx, granted)
	r := result{
		broken:  len(l.nodes)-silent < l.need,
		instant: len(l.nodes)-hopeless < l.need,
	}
	for i, n := range l.nodes {
		if !heard[i] {
			failures = append(failures, &NodeError{Node: n.label, Err: errors.New("not waited for: the others had decided it")})
		}
	}
	lost := quorum.Lost(carried)
	switch {
	case wrong != nil:
		r.err, r.instant = wrong, true
	case lost != nil:
		r.err, r.instant = lost, true
	case r.broken, late != nil:
		r.err = fmt.Errorf("redlatch: %s: %w", l.text(len(granted)), errors.Join(failures...))
	default:
		r.err = fmt.Errorf("%w: %s: %w", errs.NotAcquired, l.text(len(granted)), errors.Join(aside(failures)...))
	}
	return r
}

// askInTurn is ask for a call that may be a re-entry. The outer hold may still await the answer of the node. Asked now, the
// node would refuse the re-entry, or grant it under another identity and refuse the outer hold, and then one of the two would
// stand on a bare majority for as long as it lives. So askInTurn waits for that answer. If the outer hold has ended by then,
// it also waits until the grant is given back, because the node would refuse the re-entry otherwise. This may take two node
// timeouts for each outer hold that the node has not answered: one for its attempt and one for giving back.
func (c *call) askInTurn(ctx context.Context, n node, carried []*quorum.Hold) answer {
	for _, outer := range carried {
		if awaits := outer.Awaits(n.key()); awaits != nil {
			select {
			case <-awaits:
			case <-ctx.Done():
			}
		}
	}
	return c.ask(ctx, n)
}

// A nodeKey is the lock on one server. It is the same for all values of Lock.
type nodeKey struct {
	session *session.Session
	key     string
}

func (n node) key() nodeKey { return nodeKey{n.base.Session, n.base.Key} }

// ask makes one attempt at one node. It returns within the node timeout, whatever the node does. A command that is in flight
// then is settled by baselock.
func (c *call) ask(ctx context.Context, n node) answer {
	limit := c.nodeTimeout()
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	h, err := n.base.TryLock(within, c.member)
	if err == nil {
		return answer{member: quorum.Member{Name: n.label, Server: true, Hold: rootapi.Adopt(h)}}
	}
	a := answer{err: n.nodeError(err, within.Err() != nil && ctx.Err() == nil && errors.Is(err, within.Err()), limit)}
	if errors.Is(err, errs.Invalid) && !delivery.Failed(err) {
		a.wrong = err
	}
	return a
}

// valid tells whether each member may still be trusted when the last of them is granted: trust counts from before the send.
func (c *call) valid(granted []quorum.Member) bool {
	now := time.Now()
	return !slices.ContainsFunc(granted, func(m quorum.Member) bool {
		return m.Ending().Cause() != nil || !now.Before(m.Until().Add(-slack(c.set.FirstLease())))
	})
}

func (c *call) hold(start time.Time, granted []quorum.Member, awaited map[any]chan struct{}, alone bool) *quorum.Hold {
	terms := c.Terms()
	terms.Late = awaited
	if !c.again {
		terms.Cohort = c.cohort(alone)
	}
	return quorum.New(terms, start, granted)
}

// settle adds each grant that comes after the decision to the hold, or gives it back. Then it wakes the re-entries that await
// the node.
func (c *call) settle(h *quorum.Hold, answers <-chan answer, awaited map[any]chan struct{}, pending int, stop func()) {
	defer stop()
	for range pending {
		a := <-answers
		a.raised.Log(c.log())
		answered := func() {
			if awaits := awaited[c.lock.nodes[a.place].key()]; awaits != nil {
				close(awaits)
			}
		}
		if a.err != nil || h != nil && h.Add(a.member) {
			answered()
			continue
		}
		go func() {
			giveUp := time.AfterFunc(c.nodeTimeout(), answered) // a release may take longer than a re-entry should wait for it
			// The member repeats a release that is not confirmed until its lease is over.
			_ = a.member.Unlock(raise.Background(context.Background(), c.log()))
			if giveUp.Stop() {
				answered()
			}
		}()
	}
}

// log is for errors in the background.
func (c *call) log() *slog.Logger { return session.Logger(c.set.Logger).With("lock", c.lock.name) }

// giveBack waits for the nodes no longer than an attempt may take.
func (c *call) giveBack(ctx context.Context, granted []quorum.Member) {
	ctx, cancel := context.WithTimeout(ctx, c.nodeTimeout())
	defer cancel()
	quorum.GiveBack(ctx, c.log(), granted)
}
