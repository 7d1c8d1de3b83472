package locking

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
)

// The last Unlock of a tenant takes the first of these steps that is possible:
//
//	local hand-off   to the next waiter of the process, without a command      baselock/move.go
//	atomic hand-off  to that waiter, by a script                               atomic.go
//	remote hand-off  to the process that has waited longest, or where none     remote.go
//	                 waits to the next waiter of this one, by one script
//	release          the lock is free, and its waiters are woken
//
// A fair lock has steps of its own, see turn.go.
//
// Hand-offs within the process follow one another only for so long, see [cohort.Streak]. While a tenure is
// held, the cohort knows of it, and those of its process who come for the lock wait for what it does instead
// of asking a server that would refuse them.

// GiveBack moves the tenure, or deletes its field. The absence of that is success only when an earlier
// send of this very release may have deleted it while the lease was still trusted. What is not lost may be
// handed on.
func (Plainly) GiveBack(ctx context.Context, t *baselock.Tenure, limit delivery.Limit, held bool) error {
	next, heard := cohort.Release{}, false
	defer func() { // also when a hook of the client panics
		if next.Step != cohort.Given {
			t.Unannounce(heard)
		}
	}()
	if held && t.Base.Kind.HandsOn && t.Host == nil {
		next = t.Base.Session.Cohorts.Release(t.Base.Line, giver{t})
	}
	if next.Step == cohort.Given {
		return nil
	}
	t.Forget()
	switch next.Step {
	case cohort.Due:
		if t.Base.Row == "" {
			next.Claim.Yield()
		}
	case cohort.Unfit:
		if handing(t, next.Claim.Who().(*Caller)) == nil {
			if t.Base.Row == "" { // else the release names the waiter, and ends the claim when it is answered
				next.Claim.End()
			}
			break
		}
		start := time.Now()
		if err := handOffAtomically(ctx, t, limit, next.Cohort, next.Claim); err != errNotHandedOff {
			return err
		}
		limit.Total = max(time.Millisecond, limit.Total-time.Since(start))
		next.Cohort = nil
	}
	hears := hears(t) // a waiter that comes later, or is not subscribed yet, is woken by Unannounce
	if held && t.Base.Row != "" {
		all, err := HandOffRemotely(ctx, t, limit, next)
		heard = hears && all && err == nil
		return err
	}
	err := Release(ctx, t, limit)
	heard = hears && err == nil && !t.Base.Kind.Side.Shared // there is no message while others hold a share
	return err
}

// hears tells whether those who wait in this process will hear of a release.
func hears(t *baselock.Tenure) bool {
	return t.Base.Kind.HandsOn && t.Base.Session.Cohorts.Find(t.Base.Line).Hears()
}

// Release sets the lock free.
func Release(ctx context.Context, t *baselock.Tenure, limit delivery.Limit) error {
	cmd := t.Base.Kind.Release(t.Subject(0, 0))
	freed, receipt, err := delivery.Within(ctx, t.Base.Session.Dispatch, cmd, limit)
	return t.GaveBack(freed, receipt, err)
}

// A giver is a tenure as the cohort sees it: what a local hand-off moves to the next waiter.
type giver struct{ tenure *baselock.Tenure }

var _ cohort.Giver = giver{}

// Mark is the mark by which the cohort knows the tenure.
func (g giver) Mark() *cohort.Holder { return &g.tenure.Post }

// Streak is the streak of the tenure.
func (g giver) Streak() *cohort.Streak { return g.tenure.OwnStreak() }

// HandOn moves the tenure to the waiter next, if it can have it.
func (g giver) HandOn(in *cohort.Cohort, who any) (given any, poll time.Duration) {
	t, next := g.tenure, who.(*Caller)
	if side := t.Base.Kind.Side; side.Shared || side != next.Kind.Side || !t.Fresh(in) {
		return nil, 0
	}
	if h := t.Move(next.Set); h != nil {
		return h, Poll(next.Base, next.Set)
	}
	return nil, 0
}

// Missed makes the tenure vacant: the waiter that has it now has left.
func (g giver) Missed(any) cohort.Giver {
	g.tenure.Vacate()
	return g
}
