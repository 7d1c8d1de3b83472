package baselock

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// How long and how often a tenure in doubt is settled. A command whose connection was cut has been seen to
// execute up to half a minute later, when the network came back.
const (
	ghostsWithin   = time.Minute
	firstSettle    = 250 * time.Millisecond
	pendingPause   = 2 * time.Second // longest pause while a release is not confirmed
	SettleAttempt  = 2 * time.Second // how long one settling waits for the server
	leaseOverAfter = time.Second     // the server's clock may be behind ours by this much at the end of a lease
)

func (t *Tenure) doubtLocked() *doubt {
	r := t.rareLocked()
	if r.doubt == nil {
		r.doubt = &doubt{}
	}
	return r.doubt
}

// InDoubt tells whether a command of the tenure had an unknown outcome.
func (t *Tenure) InDoubt() bool {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return t.InDoubtLocked()
}

func (t *Tenure) InDoubtLocked() bool { return t.rare.doubt != nil }

// Doubted notes that a command of unknown outcome may still execute.
func (t *Tenure) Doubted() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.doubtLocked().ghosts = time.Now().Add(ghostsWithin)
	t.Shared.Close()
	t.planLocked()
}

// Pending notes that the release was sent or was to be sent, and has no answer. What has no live hold is not
// renewed meanwhile.
func (t *Tenure) Pending() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	d, now := t.doubtLocked(), time.Now()
	d.ghosts = now.Add(ghostsWithin)
	d.release, d.confirmed = t.leaseEnd(now), false
	if t.Tenant.Live == 0 {
		t.forgetLocked()
	}
	t.planLocked()
}

// leaseEnd is when the server has certainly dropped the tenure's key, if it is not renewed.
func (t *Tenure) leaseEnd(now time.Time) time.Time {
	set := t.Tenant.Set
	lease := max(set.FirstLease(), set.WatchdogTimeout)
	end := now.Add(lease + leaseOverAfter)
	if trusted := t.Entry.TrustedUntil().Add(watchdog.Margin(lease) + leaseOverAfter); trusted.After(end) {
		end = trusted
	}
	return end
}

// planLocked sees to it that a settling comes soon, sooner than what an older doubt may have planned. It runs
// on a timer, so nothing waits in between.
func (t *Tenure) planLocked() {
	if t.Queued {
		return
	}
	d, due := t.doubtLocked(), time.Now().Add(firstSettle)
	planned := d.pause > 0
	if !planned {
		d.since = time.Now()
	}
	d.pause = firstSettle
	if !d.settling && (!planned || due.Before(d.due)) {
		t.settleAtLocked(due)
	}
}

func (t *Tenure) settleAtLocked(due time.Time) {
	d := t.rare.doubt
	d.due = due
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(due), t.settle)
	} else {
		d.timer.Reset(time.Until(due))
	}
}

// settle takes the tenure's count in Redis to what it should be, and comes again while there is doubt.
func (t *Tenure) settle() {
	t.Mu.Lock()
	d := t.rare.doubt
	if d.settling || d.pause == 0 { // the timer was set anew as it fired
		t.Mu.Unlock()
		return
	}
	d.settling = true
	t.Mu.Unlock()

	err := t.settleOnce()

	t.Mu.Lock()
	defer t.Mu.Unlock()
	d.settling = false
	now := time.Now()
	// Where the server has said that it will never execute the release, a ghost is all that is left to wait
	// for.
	unconfirmed := !d.confirmed && now.Before(d.release) && !outcome.Final(err)
	if errors.Is(err, redis.ErrClosed) || !now.Before(d.ghosts) && !unconfirmed {
		since := d.since
		d.pause = 0
		d.timer.Stop()
		go t.settled(since, err)
		return
	}
	pause := d.pause
	d.pause = min(2*pause, ghostsWithin) // a lease may be long enough for the double to overflow
	if unconfirmed {
		pause = min(pause, pendingPause)
	} else {
		pause = min(pause, d.ghosts.Sub(now))
	}
	t.settleAtLocked(now.Add(pause))
}

// settled tells what became of the settling.
func (t *Tenure) settled(since time.Time, err error) {
	set := t.latest().Set
	if err != nil && !errors.Is(err, redis.ErrClosed) {
		session.Logger(set.Logger).Error("redlatch: what was in doubt could not be settled; the lock may stay taken until its lease is over, or until ForceUnlock",
			"lock.name", t.Base.Name, "lock.primitive", t.Base.Kind.Label, "lock.owner", t.ID,
			"error", outcome.Advise(err))
	}
	observe.Happened(context.Background(), set, redlatch.Event{
		Kind: redlatch.EventSettled, Primitive: t.Base.Kind.Label, Name: t.Base.Name, Owner: t.ID,
		Duration: time.Since(since), Err: err,
	})
}

func (t *Tenure) settleOnce() error {
	ctx, cancel := context.WithTimeout(t.Base.Background(t.latest().Set), SettleAttempt)
	defer cancel()
	if err := t.LockSend(ctx); err != nil {
		return err
	}
	defer t.UnlockSend()
	return t.assert(ctx)
}

// assert sends what is true now: the number of live holds, or that there are none. The caller has the send
// lock.
func (t *Tenure) assert(ctx context.Context) error {
	t.Mu.Lock()
	live, lost := t.Tenant.countedLocked(), t.LostLocked() != nil
	t.Mu.Unlock()
	limit := delivery.Limit{Outage: SettleAttempt}
	if live > 0 && !lost {
		cmd := t.Base.Kind.Recount(t.Subject(live, 0))
		_, receipt, err := delivery.Deliver(ctx, t.Base.Session.Dispatch, cmd, limit)
		if receipt.Doubt || err != nil && delivery.AsFailure(err).Doubt {
			t.Doubted() // this one may execute when the count is another
		}
		return err // a field that is gone is for the watchdog to find
	}
	// A release that is executed late finds nothing of ours, or what should not be there.
	_, _, err := delivery.Deliver(ctx, t.Base.Session.Dispatch, t.Base.Kind.Release(t.Subject(0, 0)), limit)
	if t.Announces {
		t.Base.Withdraw(ctx)
	}
	t.Mu.Lock()
	if d := t.rare.doubt; d != nil {
		d.confirmed = err == nil
	}
	t.Mu.Unlock()
	return err
}

// Abandon settles first acquisitions that one command was for and that did not come to a known end. What they
// took is given back: nothing, if took does not find it in the reply.
func Abandon[R any](f *delivery.Failure, cmd scripts.Command[R], took func(R) bool, owners ...*Tenure) {
	if !f.Doubt {
		return
	}
	go func() {
		if reply, known := delivery.Result(f, cmd); !known || took(reply) {
			GiveUpAll(owners, !known && !f.Over)
		}
	}()
}

// Took tells whether an attempt has left something of the tenure in Redis: a hold, or the announcement of its
// refusal.
func (t *Tenure) Took(reply scripts.Attempt) bool { return reply.Held || t.Announces }

// GiveUp releases a tenure that never got a hold.
func (t *Tenure) GiveUp() {
	if t.settleOnce() != nil {
		t.Pending()
	}
}

// settleReentry finds out about a re-entry whose caller has left, and takes the count back to the live holds.
// It has the send lock meanwhile.
func (t *Tenure) settleReentry(f *delivery.Failure, cmd scripts.Command[scripts.Attempt]) {
	lockorder.Has[lockorder.Send](t)
	defer t.UnlockSend()
	if _, known := delivery.Result(f, cmd); !known {
		t.Doubted()
	}
	ctx, cancel := context.WithTimeout(t.Base.Background(t.latest().Set), SettleAttempt)
	defer cancel()
	if t.assert(ctx) != nil {
		t.Doubted()
	}
}

// Dequeued says that the tenure waits no longer, and has what is in doubt settled.
func (t *Tenure) Dequeued() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.Queued = false
	if d := t.rare.doubt; d != nil && time.Now().Before(d.ghosts) {
		t.planLocked()
	}
}

// Dismiss gives up identities that nothing uses any more, or that a release had hold for no waiter. An empty
// text stands for no identity.
func (b *Base) Dismiss(owners ...string) {
	for _, owner := range owners {
		if owner != "" {
			go NewTenureAs(b, b.Defaults, owner).GiveUp()
		}
	}
}

func GiveUpAll(owners []*Tenure, doubted bool) {
	for _, t := range owners {
		if doubted {
			t.Doubted()
		}
		go t.GiveUp()
	}
}
