package baselock

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// How long and how often an owner in doubt is settled. A command whose connection was cut has been seen to
// execute up to half a minute later, when the network came back.
const (
	ghostsWithin   = time.Minute
	firstSettle    = 250 * time.Millisecond
	pendingPause   = 2 * time.Second // longest pause while a release is not confirmed
	settleAttempt  = 2 * time.Second // how long one settling waits for the server
	leaseOverAfter = time.Second     // the server's clock may be behind ours by this much at the end of a lease
)

// A doubt is what is unknown about an owner's commands.
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

func (o *owner) doubtLocked() *doubt {
	if o.doubt == nil {
		o.doubt = &doubt{}
	}
	return o.doubt
}

// inDoubt tells whether a command of the owner had an unknown outcome.
func (o *owner) inDoubt() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.doubt != nil
}

// doubted notes that a command of unknown outcome may still execute.
func (o *owner) doubted() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.doubtLocked().ghosts = time.Now().Add(ghostsWithin)
	o.shared.Close()
	o.planLocked()
}

// pending notes that the release was sent or was to be sent, and has no answer.
func (o *owner) pending() {
	o.mu.Lock()
	defer o.mu.Unlock()
	d, now := o.doubtLocked(), time.Now()
	d.ghosts = now.Add(ghostsWithin)
	d.release, d.confirmed = o.leaseEnd(now), false
	o.planLocked()
}

// leaseEnd is when the server has certainly dropped the owner's key, if it is not renewed.
func (o *owner) leaseEnd(now time.Time) time.Time {
	lease := max(o.set.FirstLease(), o.set.WatchdogTimeout)
	end := now.Add(lease + leaseOverAfter)
	if trusted := o.ticket.TrustedUntil().Add(watchdog.Margin(lease) + leaseOverAfter); trusted.After(end) {
		end = trusted
	}
	return end
}

// planLocked sees to it that a settling comes soon, sooner than what an older doubt may have planned. It runs
// on a timer, so nothing waits in between.
func (o *owner) planLocked() {
	if o.queued {
		return
	}
	d, due := o.doubtLocked(), time.Now().Add(firstSettle)
	planned := d.pause > 0
	if !planned {
		d.since = time.Now()
	}
	d.pause = firstSettle
	if !d.settling && (!planned || due.Before(d.due)) {
		o.settleAtLocked(due)
	}
}

func (o *owner) settleAtLocked(due time.Time) {
	o.doubt.due = due
	if o.doubt.timer == nil {
		o.doubt.timer = time.AfterFunc(time.Until(due), o.settle)
	} else {
		o.doubt.timer.Reset(time.Until(due))
	}
}

// settle takes the owner's count in Redis to what it should be, and comes again while there is doubt.
func (o *owner) settle() {
	o.mu.Lock()
	if o.doubt.settling || o.doubt.pause == 0 { // the timer was set anew as it fired
		o.mu.Unlock()
		return
	}
	o.doubt.settling = true
	o.mu.Unlock()

	err := o.settleOnce()

	o.mu.Lock()
	defer o.mu.Unlock()
	o.doubt.settling = false
	now := time.Now()
	// Where the server has said that it will never execute the release, a ghost is all that is left to wait
	// for.
	unconfirmed := !o.doubt.confirmed && now.Before(o.doubt.release) && !outcome.Final(err)
	if errors.Is(err, redis.ErrClosed) || !now.Before(o.doubt.ghosts) && !unconfirmed {
		since := o.doubt.since
		o.doubt.pause = 0
		o.doubt.timer.Stop()
		go o.settled(since, err)
		return
	}
	pause := o.doubt.pause
	o.doubt.pause = min(2*pause, ghostsWithin) // a lease may be long enough for the double to overflow
	if unconfirmed {
		pause = min(pause, pendingPause)
	} else {
		pause = min(pause, o.doubt.ghosts.Sub(now))
	}
	o.settleAtLocked(now.Add(pause))
}

// settled tells what became of the settling.
func (o *owner) settled(since time.Time, err error) {
	if err != nil && !errors.Is(err, redis.ErrClosed) {
		session.Logger(o.set.Logger).Error("redlatch: what was in doubt could not be settled; the lock may stay taken until its lease is over, or until ForceUnlock",
			"lock.name", o.base.Name, "lock.primitive", o.base.Kind.Label, "lock.owner", o.id,
			"error", outcome.Advise(err))
	}
	observe.Happened(context.Background(), o.set, settings.Event{
		Kind: settings.Settled, Primitive: string(o.base.Kind.Label), Name: o.base.Name, Owner: o.id,
		Duration: time.Since(since), Err: err,
	})
}

func (o *owner) settleOnce() error {
	ctx, cancel := context.WithTimeout(o.base.background(o.set), settleAttempt)
	defer cancel()
	if err := o.lockSend(ctx); err != nil {
		return err
	}
	defer o.unlockSend()
	return o.assert(ctx)
}

// assert sends what is true now: the number of live holds, or that there are none. The caller has the send
// lock.
func (o *owner) assert(ctx context.Context) error {
	o.mu.Lock()
	live, lost := o.countedLocked(), o.lostLocked() != nil
	o.mu.Unlock()
	limit := delivery.Limit{Outage: settleAttempt}
	if live > 0 && !lost {
		cmd := o.base.Kind.Recount(o.subject(live, 0))
		_, receipt, err := delivery.Deliver(ctx, o.base.Session.Dispatch, cmd, limit)
		if receipt.Doubt || err != nil && delivery.AsFailure(err).Doubt {
			o.doubted() // this one may execute when the count is another
		}
		return err // a field that is gone is for the watchdog to find
	}
	// A release that is executed late finds nothing of ours, or what should not be there.
	_, _, err := delivery.Deliver(ctx, o.base.Session.Dispatch, o.base.Kind.Release(o.subject(0, 0)), limit)
	if o.announces {
		o.base.withdraw(ctx)
	}
	o.mu.Lock()
	if o.doubt != nil {
		o.doubt.confirmed = err == nil
	}
	o.mu.Unlock()
	return err
}

// abandon settles first acquisitions that one command was for and that did not come to a known end. What they
// took is given back: nothing, if took does not find it in the reply.
func abandon[R any](f *delivery.Failure, cmd scripts.Command[R], took func(R) bool, owners ...*owner) {
	if !f.Doubt {
		return
	}
	go func() {
		if reply, known := delivery.Result(f, cmd); !known || took(reply) {
			giveUpAll(owners, !known && !f.Over)
		}
	}()
}

// took tells whether an attempt has left something of the owner in Redis: a hold, or the announcement of its
// refusal.
func (o *owner) took(reply scripts.Attempt) bool { return reply.Held || o.announces }

// giveUp releases an owner that never got a hold.
func (o *owner) giveUp() {
	if o.settleOnce() != nil {
		o.pending()
	}
}

// settleReentry finds out about a re-entry whose caller has left, and takes the count back to the live holds.
// It has the send lock meanwhile.
func (o *owner) settleReentry(f *delivery.Failure, cmd scripts.Command[scripts.Attempt]) {
	lockorder.Has[lockorder.Send](o)
	defer o.unlockSend()
	if _, known := delivery.Result(f, cmd); !known {
		o.doubted()
	}
	ctx, cancel := context.WithTimeout(o.base.background(o.set), settleAttempt)
	defer cancel()
	if o.assert(ctx) != nil {
		o.doubted()
	}
}
