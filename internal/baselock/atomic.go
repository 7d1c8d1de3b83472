package baselock

import (
	"context"
	"errors"

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
func (t *tenure) handOffAtomically(ctx context.Context, limit delivery.Limit, in *cohort.Cohort,
	claim cohort.Claim) error {
	promise := promised(claim)
	defer promise.broken()
	next := promise.to
	to, from := next.subject(1, next.first.set.FirstLease()), t.subject(0, 0)
	to.Block = t.blockFor(next.first.set, in)
	limit.Stubborn = false // where it is hopeless a release may not be: it needs less
	from.Listening = listening(in)
	cmd := t.handing(claim.Who().(*caller))(from, to)
	reply, receipt, err := delivery.Within(ctx, t.base.Session.Dispatch, cmd, limit)
	switch {
	case err != nil:
		promise.failed(err, cmd)
	case reply.Held:
		t.streak.Scripts++
		t.streak.Given++
		t.confirmed(receipt.Sent)
		streak := *t.streak // those that have left t may still look at its news
		promise.kept(&streak, receipt, reply)
	default:
		promise.refused()
	}
	if err != nil && !delivery.AsFailure(err).Doubt {
		return errNotHandedOff
	}
	return t.gaveBack(reply.Held || reply.Freed, receipt, err)
}

// handing is the script by which t hands the lock to next, nil where there is none. One that would have to
// take back an announcement asks for itself.
func (t *tenure) handing(next *caller) func(from, to Subject) scripts.Command[scripts.Attempt] {
	switch side := t.base.Kind.side(); {
	case side == next.Kind.side():
		return next.Kind.Atomic
	case !next.announces(next.set):
		return side.Turn
	}
	return nil
}
