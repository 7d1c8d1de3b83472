package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
)

// A result is what a round came to.
type result struct {
	hold *quorum.Hold // nil when it failed
	err  error
	tally
	yielded bool // only the chair has refused it, and it was left to the process that has the chair's vote
}

// known is what a round found out before ctx may have cut it off; nil: nothing.
func (r *result) known() error {
	if r.cut {
		return nil
	}
	if errors.Is(r.err, errs.NotAcquired) || errors.Is(r.err, errs.Unavailable) || errors.Is(r.err, errs.Invalid) {
		return r.err
	}
	return nil
}

// An answer is what one node said in a round.
type answer struct {
	place  int // of the node
	member holds.Member
	err    *NodeError   // nil when it granted
	wrong  error        // the call itself makes no sense
	raised *raise.Panic // what the attempt has panicked with
}

// A round asks all nodes at the same time, once, until it is decided. Later answers are dealt with in the
// background.
type round struct {
	*call
	start time.Time
	vote  *vote // nil: the chair is asked as the others are
	chair int

	// The context of the caller ends the round, but not the attempts that go on after it: servers that have not
	// answered by then are to join the hold.
	asking  context.Context
	stop    func()
	follows func() bool // ends that the caller's context ends the attempts

	answers chan answer
	heard   []bool // by node
	pending int    // answers
	granted []holds.Member
	errs    []*NodeError // by node; nil where it granted or has not answered
	wrong   error
	raised  *raise.Panic
}

// round makes a round. If an attempt has panicked by the time it is decided, round gives back what was
// granted and panics with the same value. before holds if the round gets the lock. With a vote the chair is
// not asked: the vote is its answer, if that is known.
func (c *call) round(ctx context.Context, before quorum.Before, v *vote) result {
	n := len(c.lock.nodes)
	r := &round{call: c, start: time.Now(), vote: v, chair: c.lock.chair(),
		answers: make(chan answer, n), heard: make([]bool, n), errs: make([]*NodeError, n)}
	r.asking, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.follows = context.AfterFunc(ctx, r.stop)
	if v != nil {
		r.chair = v.chair
		if v.isKnown() {
			v.used = true
			r.pending++
			r.answers <- v.answer()
		}
	}
	for i := range n {
		if v == nil || i != v.chair {
			r.ask(i)
		}
	}
	r.decide()
	r.insist()
	r.hearChair()
	switch {
	case len(r.granted) < c.Need, r.raised != nil, r.yields():
		return r.lost(ctx, nil)
	case !c.valid(r.granted):
		return r.lost(ctx, delivery.Unavailable(errors.New("the answers took longer than the lease lasts; ask for a "+
			"longer lease")))
	}
	return result{hold: r.won(before)}
}

// decide hears answers until enough have granted; or too few will, and it is known whether that is because
// others have the lock or because too many servers are out of reach.
func (r *round) decide() {
	for r.raised == nil && r.pending > 0 && len(r.granted) < r.Need && !r.vain() {
		r.take(<-r.answers)
	}
}

// vain tells whether it is of no use to hear more. What was granted is kept from others meanwhile. So as soon
// as one server has refused, those that are known to be down are not waited for; nor is anything by a
// newcomer that the chair has refused.
func (r *round) vain() bool {
	t := r.tally()
	coming := r.pending
	for i, n := range r.lock.nodes {
		if t.refused > 0 && !r.heard[i] && !(i == r.chair && r.waits()) && n.base.Session.Down.Load() {
			coming--
		}
	}
	return (t.answered || t.broken) && (len(r.granted)+coming < r.Need || r.yields())
}

// newcomer tells whether the call asks before it waits. A try takes what it can get, and is none.
func (r *round) newcomer() bool { return r.vote == nil && !r.Try && !r.again }

// hearChair has a newcomer that was granted enough hear the chair too. It waits for no longer than the others
// took.
func (r *round) hearChair() {
	if !r.newcomer() || r.raised != nil || len(r.granted) < r.Need {
		return
	}
	timer := time.NewTimer(time.Since(r.start))
	defer timer.Stop()
	for !r.heard[r.chair] && r.raised == nil {
		select {
		case a := <-r.answers:
			r.take(a)
		case <-timer.C:
			return
		}
	}
}

// yields tells whether a newcomer leaves the lock to the process that has the chair's vote, and needs what
// the newcomer was granted.
func (r *round) yields() bool {
	return r.newcomer() && r.errs[r.chair] != nil && r.errs[r.chair].Refused
}

// The pauses of a call that has the chair's grant, and that other servers have refused. A newcomer that they
// have granted gives that back within a round trip.
const (
	firstInsisting = 250 * time.Microsecond
	mostInsisting  = 16 * time.Millisecond
)

// insist has a call to which the chair has granted ask those again that have refused, while with them enough
// can grant.
func (r *round) insist() {
	if r.Try || r.again || !r.heard[r.chair] || r.errs[r.chair] != nil {
		return
	}
	for pause := firstInsisting; pause <= mostInsisting; pause *= 2 {
		var refused []int
		for i, err := range r.errs {
			if err != nil && err.Refused {
				refused = append(refused, i)
			}
		}
		if r.raised != nil || len(r.granted) >= r.Need || len(r.granted)+r.pending+len(refused) < r.Need {
			return
		}
		if clock.Sleep(r.asking, pause/2+jitter.Below(pause)) != nil {
			return
		}
		for _, i := range refused {
			r.heard[i], r.errs[i] = false, nil
			r.ask(i)
		}
		r.decide()
	}
}

// ask has the node i asked.
func (r *round) ask(i int) {
	r.pending++
	n := r.lock.nodes[i]
	var a answer
	raise.Go(func() { a = r.askInTurn(r.asking, n) }, func(raised *raise.Panic) {
		if a.raised = raised; raised != nil {
			a.err = &NodeError{Node: n.label, Err: raised}
		}
		a.place = i
		r.answers <- a
	})
}

// take notes an answer.
func (r *round) take(a answer) {
	r.pending--
	r.heard[a.place] = true
	if a.err == nil {
		r.granted = append(r.granted, a.member)
		return
	}
	r.errs[a.place], r.raised = a.err, a.raised
	if a.wrong != nil {
		r.wrong = a.wrong
	}
}

// won makes the grants a hold.
func (r *round) won(before quorum.Before) *quorum.Hold {
	r.follows()
	awaited := quorum.Late{}
	for i, n := range r.lock.nodes {
		if !r.heard[i] {
			awaited[n.key()] = make(chan struct{})
		}
	}
	var streak *quorum.Streak
	if !r.again {
		streak = r.Streak(before)
	}
	if r.waits() { // a vote that comes while its wait ends joins the hold
		r.vote.used = true
		r.pending++
		r.vote.stop()
		go func() {
			<-r.vote.known
			r.answers <- r.vote.answer()
		}()
	}
	h := r.Hold(r.start, r.granted, streak, awaited)
	go r.hearRest(h, awaited)
	return h
}

// lost gives back what was granted. late is why the grants are worth nothing any more, nil if they are too
// few.
func (r *round) lost(ctx context.Context, late error) result {
	go r.hearRest(nil, nil)
	if r.raised != nil {
		r.giveBack(raise.Background(ctx, r.Log()), r.granted)
		panic(r.raised)
	}
	r.giveBack(ctx, r.granted)
	failures, came := r.failures(), result{tally: r.tally()}
	if late != nil {
		failures = append(failures, late)
	}
	came.yielded = r.yields() && came.refused == 1
	came.cut = came.cut && ctx.Err() != nil
	granted := fmt.Sprintf("%d of %d servers granted it and %d are needed", len(r.granted), len(r.lock.nodes), r.Need)
	switch outer := quorum.Lost(r.carried); {
	case r.wrong != nil:
		came.err, came.instant = r.wrong, true
	case outer != nil:
		came.err, came.instant = outer, true
	case came.broken, late != nil:
		came.err = fmt.Errorf("redlatch: redlock %q: %s: %w", r.Name, granted, errs.Part(errors.Join(failures...), ""))
	default:
		came.err = &quorum.Refusal{NotAcquiredError: redlatch.NotAcquiredError{
			Name: r.Name, Kind: redlatch.KindRedlock, Left: r.leaseLeft(), Detail: granted,
		}, Said: fmt.Errorf("%s: %w", granted, errs.Part(errors.Join(aside(failures)...), ""))}
	}
	return came
}

// leaseLeft is after which time the leases of enough servers are over, unless they are renewed; 0 where that
// is not known.
func (r *round) leaseLeft() time.Duration {
	var all []time.Duration
	for _, err := range r.errs {
		if err != nil && err.Refused && err.left > 0 {
			all = append(all, err.left)
		}
	}
	missing := r.Need - len(r.granted)
	if missing < 1 || missing > len(all) {
		return 0
	}
	slices.Sort(all)
	return all[missing-1]
}

// A tally is what a round knows of the nodes.
type tally struct {
	refused  int  // so many have answered that another has the lock
	answered bool // enough have answered as a lock does
	broken   bool // too few can, for the others are silent
	instant  bool // too few ever will: asking again cannot help
	cut      bool // too few can, but enough could if no context had ended before their answers
}

func (r *round) tally() (t tally) {
	silent, hopeless, cut := 0, 0, 0
	for i, err := range r.errs {
		switch {
		case i == r.chair && r.waits() && r.vote.queues(), err != nil && err.Refused:
			t.refused++
		case i == r.chair && r.waits():
			silent++
			cut++
		case err != nil:
			silent++
			if err.hopeless() {
				hopeless++
			}
			if err.cut() {
				cut++
			}
		}
	}
	n, need := len(r.lock.nodes), r.Need
	t.answered, t.broken, t.instant = len(r.granted)+t.refused >= need, n-silent < need, n-hopeless < need
	t.cut = t.broken && n-silent+cut >= need
	return t
}

// waits tells whether the call goes on waiting for the vote.
func (r *round) waits() bool { return r.vote != nil && !r.vote.used }

// failures are why nodes have not granted; those that were not waited for come last.
func (r *round) failures() (failures []error) {
	var unheard []error
	for i, n := range r.lock.nodes {
		switch err := r.errs[i]; {
		case err != nil:
			failures = append(failures, err)
		case r.heard[i]:
		case i != r.chair || !r.waits():
			unheard = append(unheard, &NodeError{Node: n.label,
				Err: errors.New("not waited for: the others had decided it")})
		case r.vote.queues():
			failures = append(failures, &NodeError{Node: n.label, Refused: true,
				Err: errors.New("it is held there, and the call waits in its queue")})
		default:
			failures = append(failures, &NodeError{Node: n.label,
				Err: delivery.Unavailable(errors.New("no answer yet"))})
		}
	}
	return append(failures, unheard...)
}

// askInTurn is attempt for a call that may be a re-entry. The outer hold may still await the answer of the
// node. Asked now, the node would refuse the re-entry, or grant it under another identity and refuse the
// outer hold, and then one of the two would stand on a bare majority for as long as it lives. So askInTurn
// waits for that answer. If the outer hold has ended by then, it also waits until the grant is given back,
// because the node would refuse the re-entry otherwise. This may take two node timeouts for each outer hold
// that the node has not answered: one for its attempt and one for giving back.
func (c *call) askInTurn(ctx context.Context, n node) answer {
	for _, outer := range c.carried {
		if awaits := outer.Awaits(n.key()); awaits != nil {
			select {
			case <-awaits:
			case <-ctx.Done():
			}
		}
	}
	return c.attempt(ctx, n)
}

// A nodeKey is the lock on one server. It is the same for all values of Lock.
type nodeKey struct {
	session *session.Session
	key     string
}

func (n node) key() nodeKey { return nodeKey{n.base.Session, n.base.Key} }

// attempt makes one attempt at one node. It returns within the node timeout, whatever the node does. A
// command that is in flight then is settled by baselock.
func (c *call) attempt(ctx context.Context, n node) answer {
	var h *redlatch.Hold
	failed, err := n.ask(ctx, c.nodeTimeout(), func(ctx context.Context) (err error) {
		h, err = locking.TryLock(ctx, n.base, c.Opts)
		return err
	})
	if failed == nil {
		return answer{member: n.grant(h)}
	}
	a := answer{err: failed}
	if errors.Is(err, errs.Invalid) && !delivery.Failed(err) {
		a.wrong = err
	}
	return a
}

// valid tells whether each member may still be trusted when the last of them is granted: trust counts from
// before the send.
func (c *call) valid(granted []holds.Member) bool {
	now := time.Now()
	return !slices.ContainsFunc(granted, func(m holds.Member) bool {
		return m.Ending().Cause() != nil || !now.Before(m.Until())
	})
}

// hearRest adds each grant that comes after the decision to the hold, or gives it back. Then it wakes the
// re-entries that await the node.
func (r *round) hearRest(h *quorum.Hold, awaited quorum.Late) {
	defer r.stop()
	defer r.follows()
	for range r.pending {
		a := <-r.answers
		a.raised.Log(r.Log())
		answered := func() {
			if awaits := awaited[r.lock.nodes[a.place].key()]; awaits != nil {
				close(awaits)
			}
		}
		if a.err != nil || h != nil && h.Add(a.member) {
			answered()
			continue
		}
		go func() {
			// A release may take longer than a re-entry should wait for it
			giveUp := time.AfterFunc(r.nodeTimeout(), answered)
			// The member repeats a release that is not confirmed until its lease is over.
			_ = a.member.Unlock(raise.Background(context.Background(), r.Log()))
			if giveUp.Stop() {
				answered()
			}
		}()
	}
}

// giveBack waits for the nodes no longer than an attempt may take.
func (c *call) giveBack(ctx context.Context, granted []holds.Member) {
	ctx, cancel := context.WithTimeout(ctx, c.nodeTimeout())
	defer cancel()
	c.GiveBack(ctx, granted)
}
