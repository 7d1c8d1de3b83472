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
	settleAttempt  = 2 * time.Second // how long one settling waits for the server
	leaseOverAfter = time.Second     // the server's clock may be behind ours by this much at the end of a lease
)

// A doubt is what is unknown about a tenure's commands.
type doubt struct {
	ghosts    time.Time // a command may execute until then, whatever the server answers meanwhile
	release   time.Time // a release is not confirmed; nothing is to be released after that moment
	confirmed bool      // the release is
	since     time.Time
	pause     time.Duration // until the next settling; 0: none is planned
	due       time.Time     // when that is
	timer     *time.Timer   // that brings it
	settling  bool          // one is under way, and plans the next when it is done
}

func (t *tenure) doubtLocked() *doubt {
	r := t.rareLocked()
	if r.doubt == nil {
		r.doubt = &doubt{}
	}
	return r.doubt
}

// inDoubt tells whether a command of the tenure had an unknown outcome.
func (t *tenure) inDoubt() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rare.doubt != nil
}

// doubted notes that a command of unknown outcome may still execute.
func (t *tenure) doubted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubtLocked().ghosts = time.Now().Add(ghostsWithin)
	t.shared.Close()
	t.planLocked()
}

// pending notes that the release was sent or was to be sent, and has no answer. What has no live hold is not
// renewed meanwhile.
func (t *tenure) pending() {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, now := t.doubtLocked(), time.Now()
	d.ghosts = now.Add(ghostsWithin)
	d.release, d.confirmed = t.leaseEnd(now), false
	if t.tenant.live == 0 {
		t.forgetLocked()
	}
	t.planLocked()
}

// leaseEnd is when the server has certainly dropped the tenure's key, if it is not renewed.
func (t *tenure) leaseEnd(now time.Time) time.Time {
	set := t.tenant.set
	lease := max(set.FirstLease(), set.WatchdogTimeout)
	end := now.Add(lease + leaseOverAfter)
	if trusted := t.entry.TrustedUntil().Add(watchdog.Margin(lease) + leaseOverAfter); trusted.After(end) {
		end = trusted
	}
	return end
}

// planLocked sees to it that a settling comes soon, sooner than what an older doubt may have planned. It runs
// on a timer, so nothing waits in between.
func (t *tenure) planLocked() {
	if t.queued {
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

func (t *tenure) settleAtLocked(due time.Time) {
	d := t.rare.doubt
	d.due = due
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(due), t.settle)
	} else {
		d.timer.Reset(time.Until(due))
	}
}

// settle takes the tenure's count in Redis to what it should be, and comes again while there is doubt.
func (t *tenure) settle() {
	t.mu.Lock()
	d := t.rare.doubt
	if d.settling || d.pause == 0 { // the timer was set anew as it fired
		t.mu.Unlock()
		return
	}
	d.settling = true
	t.mu.Unlock()

	err := t.settleOnce()

	t.mu.Lock()
	defer t.mu.Unlock()
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
func (t *tenure) settled(since time.Time, err error) {
	set := t.latest().set
	if err != nil && !errors.Is(err, redis.ErrClosed) {
		session.Logger(set.Logger).Error("redlatch: what was in doubt could not be settled; the lock may stay taken until its lease is over, or until ForceUnlock",
			"lock.name", t.base.Name, "lock.primitive", t.base.Kind.Label, "lock.owner", t.id,
			"error", outcome.Advise(err))
	}
	observe.Happened(context.Background(), set, redlatch.Event{
		Kind: redlatch.EventSettled, Primitive: t.base.Kind.Label, Name: t.base.Name, Owner: t.id,
		Duration: time.Since(since), Err: err,
	})
}

func (t *tenure) settleOnce() error {
	ctx, cancel := context.WithTimeout(t.base.background(t.latest().set), settleAttempt)
	defer cancel()
	if err := t.lockSend(ctx); err != nil {
		return err
	}
	defer t.unlockSend()
	return t.assert(ctx)
}

// assert sends what is true now: the number of live holds, or that there are none. The caller has the send
// lock.
func (t *tenure) assert(ctx context.Context) error {
	t.mu.Lock()
	live, lost := t.tenant.countedLocked(), t.lostLocked() != nil
	t.mu.Unlock()
	limit := delivery.Limit{Outage: settleAttempt}
	if live > 0 && !lost {
		cmd := t.base.Kind.Recount(t.subject(live, 0))
		_, receipt, err := delivery.Deliver(ctx, t.base.Session.Dispatch, cmd, limit)
		if receipt.Doubt || err != nil && delivery.AsFailure(err).Doubt {
			t.doubted() // this one may execute when the count is another
		}
		return err // a field that is gone is for the watchdog to find
	}
	// A release that is executed late finds nothing of ours, or what should not be there.
	_, _, err := delivery.Deliver(ctx, t.base.Session.Dispatch, t.base.Kind.Release(t.subject(0, 0)), limit)
	if t.announces {
		t.base.withdraw(ctx)
	}
	t.mu.Lock()
	if d := t.rare.doubt; d != nil {
		d.confirmed = err == nil
	}
	t.mu.Unlock()
	return err
}

// abandon settles first acquisitions that one command was for and that did not come to a known end. What they
// took is given back: nothing, if took does not find it in the reply.
func abandon[R any](f *delivery.Failure, cmd scripts.Command[R], took func(R) bool, owners ...*tenure) {
	if !f.Doubt {
		return
	}
	go func() {
		if reply, known := delivery.Result(f, cmd); !known || took(reply) {
			giveUpAll(owners, !known && !f.Over)
		}
	}()
}

// took tells whether an attempt has left something of the tenure in Redis: a hold, or the announcement of its
// refusal.
func (t *tenure) took(reply scripts.Attempt) bool { return reply.Held || t.announces }

// giveUp releases a tenure that never got a hold.
func (t *tenure) giveUp() {
	if t.settleOnce() != nil {
		t.pending()
	}
}

// settleReentry finds out about a re-entry whose caller has left, and takes the count back to the live holds.
// It has the send lock meanwhile.
func (t *tenure) settleReentry(f *delivery.Failure, cmd scripts.Command[scripts.Attempt]) {
	lockorder.Has[lockorder.Send](t)
	defer t.unlockSend()
	if _, known := delivery.Result(f, cmd); !known {
		t.doubted()
	}
	ctx, cancel := context.WithTimeout(t.base.background(t.latest().set), settleAttempt)
	defer cancel()
	if t.assert(ctx) != nil {
		t.doubted()
	}
}

// dequeued says that the tenure waits no longer, and has what is in doubt settled.
func (t *tenure) dequeued() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queued = false
	if d := t.rare.doubt; d != nil && time.Now().Before(d.ghosts) {
		t.planLocked()
	}
}

// dismiss gives up identities that nothing uses any more, or that a release had hold for no waiter. An empty
// text stands for no identity.
func (b *Base) dismiss(owners ...string) {
	for _, owner := range owners {
		if owner != "" {
			go newTenureAs(b, b.defaults, owner).giveUp()
		}
	}
}

func giveUpAll(owners []*tenure, doubted bool) {
	for _, t := range owners {
		if doubted {
			t.doubted()
		}
		go t.giveUp()
	}
}
