package locking

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/scripts"
)

// An atomic hand-off removes the one owner and puts the next of the process in its place, in one script: one
// round trip a section.
//
//	             claim                       moved
//	next waits ────────► next is promised ───────────► next holds ── has left meanwhile ──► handed on, or released
//	     ▲                      │
//	     └──────────────────────┘ from had lost it, or the answer is not known: next asks, under a new identity
//
// No message is sent, because the lock is never free in between.

var errNotHandedOff = errors.New("redlatch: the lock was not handed off")

// handOffAtomically releases the lock and acquires it for the waiter in one. An error that is certain to have
// changed nothing is errNotHandedOff: the lock is to be released.
func handOffAtomically(ctx context.Context, t *baselock.Tenure, limit delivery.Limit, in *cohort.Cohort,
	claim cohort.Claim) error {
	promise := promised(claim)
	defer promise.broken()
	next := promise.to
	to, from := next.Subject(1, next.First.Set.FirstLease()), t.Subject(0, 0)
	to.Block = blockFor(t, next.First.Set, in)
	limit.Stubborn = false // where it is hopeless a release may not be: it needs less
	from.Listening = Listening(in)
	cmd := handing(t, claim.Who().(*Caller))(from, to)
	reply, receipt, err := delivery.Within(ctx, t.Base.Session.Dispatch, cmd, limit)
	switch {
	case err != nil:
		promise.failed(err, cmd)
	case reply.Held:
		t.Streak.Scripts++
		t.Streak.Given++
		t.Confirmed(receipt.Sent)
		streak := *t.Streak // those that have left t may still look at its news
		promise.kept(&streak, receipt, reply)
	default:
		promise.refused()
	}
	if err != nil && !delivery.AsFailure(err).Doubt {
		return errNotHandedOff
	}
	return t.GaveBack(reply.Held || reply.Freed, receipt, err)
}

// handing is the script by which t hands the lock to next, nil where there is none. One that would have to
// take back an announcement asks for itself.
func handing(t *baselock.Tenure, next *Caller) func(from, to baselock.Subject) scripts.Command[scripts.Attempt] {
	switch side := t.Base.Kind.Side; {
	case side == next.Kind.Side:
		return next.Kind.Atomic
	case !next.Announces(next.Set):
		return side.Turn
	}
	return nil
}

// A promise is the tenure that a script is to grant to a claimed waiter, in the place of another one of its
// process. The sender of the script ends the promise, by one of the methods below or by the end of the claim.
// An earlier send of the script that is executed late finds the former owner gone, and does nothing.
type promise struct {
	to    *baselock.Tenure
	claim cohort.Claim
	over  bool
}

// end is for a sender that ends the claim itself.
func (p *promise) end(claimed func(cohort.Claim)) {
	p.over = true
	claimed(p.claim)
}

func promised(claim cohort.Claim) *promise {
	next := claim.Who().(*Caller)
	return &promise{to: baselock.NewTenure(next.Base, next.Set), claim: claim}
}

// kept has the waiter hold, as the script has answered. If that came too late the waiter asks.
func (p *promise) kept(streak *cohort.Streak, receipt delivery.Receipt, reply scripts.Attempt) {
	p.to.Streak = streak
	given, _ := p.to.Accept(receipt, reply)
	if given == nil {
		p.refused()
		return
	}
	p.over, given.Path = true, baselock.Swapped
	switch {
	case !p.claim.Give(given, Poll(p.to.Base, p.to.First.Set)):
		go given.Decline()
	case p.to.Base.Kind.Sharing != nil:
		p.to.Base.Kind.Sharing.LetIn(p.to)
	}
}

// refused has the waiter ask for itself.
func (p *promise) refused() {
	p.over = true
	p.claim.Refuse()
}

// failed does what refused does, for a script that may have been executed, or may still be. What the script
// has taken is given back.
func (p *promise) failed(err error, cmd scripts.Command[scripts.Attempt]) {
	baselock.Abandon(delivery.AsFailure(err), cmd, p.to.Took, p.to)
	p.refused()
}

// broken is to be deferred. It ends a promise that nothing else has ended, because a hook of the client has
// panicked on the goroutine that sends the script. Without it the waiter would be promised the lock for ever.
func (p *promise) broken() {
	if !p.over {
		p.refused()
		p.to.Doubted()
	}
}
