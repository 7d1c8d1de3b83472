package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
)

// The last Unlock of a tenant takes the first of these steps that is possible:
//
//	local hand-off   to the next waiter of the process, without a command      move.go
//	atomic hand-off  to that waiter, by a script                               atomic.go
//	remote hand-off  to the process that has waited longest, or where none     remote.go
//	                 waits to the next waiter of this one, by one script
//	release          the lock is free, and its waiters are woken
//
// A fair lock has steps of its own, see turn.go.
//
// Hand-offs within the process follow one another only for so long, see [cohort.Streak]. While a tenure
// is held, the cohort knows of it, and those of its process who come for the lock wait for what it does instead
// of asking a server that would refuse them.

// giveBackAll moves the tenure, or deletes its field. The absence of that is success only when an earlier
// send of this very release may have deleted it while the lease was still trusted. What is not lost may be
// handed on.
func (t *tenure) giveBackAll(ctx context.Context, limit delivery.Limit, held bool) error {
	next, heard := cohort.Release{}, false
	defer func() { // also when a hook of the client panics
		if next.Step != cohort.Given {
			t.unannounce(heard)
		}
	}()
	if held && t.base.Kind.HandsOn && t.host == nil {
		next = t.base.Session.Cohorts.Release(t.base.line, t)
	}
	if next.Step == cohort.Given {
		return nil
	}
	t.forget()
	switch next.Step {
	case cohort.Due:
		if t.base.row == "" {
			next.Claim.Yield()
		}
	case cohort.Unfit:
		if t.handing(next.Claim.Who().(*caller)) == nil {
			if t.base.row == "" { // else the release names the waiter, and ends the claim when it is answered
				next.Claim.End()
			}
			break
		}
		start := time.Now()
		if err := t.handOffAtomically(ctx, limit, next.Cohort, next.Claim); err != errNotHandedOff {
			return err
		}
		limit.Total = max(time.Millisecond, limit.Total-time.Since(start))
		next.Cohort = nil
	}
	hears := t.hears() // a waiter that comes later, or is not subscribed yet, is woken by unannounce
	if held && t.base.row != "" {
		all, err := t.handOffRemotely(ctx, limit, next)
		heard = hears && all && err == nil
		return err
	}
	err := t.release(ctx, limit)
	heard = hears && err == nil && !t.base.Kind.side().Shared // there is no message while others hold a share
	return err
}

// hears tells whether those who wait in this process will hear of a release.
func (t *tenure) hears() bool {
	return t.base.Kind.HandsOn && t.base.Session.Cohorts.Find(t.base.line).Hears()
}

// release sets the lock free.
func (t *tenure) release(ctx context.Context, limit delivery.Limit) error {
	cmd := t.base.Kind.Release(t.subject(0, 0))
	freed, receipt, err := delivery.Within(ctx, t.base.Session.Dispatch, cmd, limit)
	return t.gaveBack(freed, receipt, err)
}
