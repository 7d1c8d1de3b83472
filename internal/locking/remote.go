package locking

import (
	"cmp"
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A release that is not for a waiter of its own process is for the first in the process queue: the script has
// that one hold, and a message tells the process of the new holder, which need not ask. A message to all
// processes instead would cost that one a round trip more, and all others would ask in vain.
//
//	                        message, or asks
//	in the queue ─────► holds, unknown to its process ──► holds ── has left meanwhile ──► passed on, or released
//	                        │
//	                        └── its process is gone ──► free when PassLease is over
//
// A waiter that wants another lease than a pass gives, or the word of replicas, cannot be passed the lock.
// Its process stands in the process queue too, and is only told to look when its turn comes: the lock is free
// then, and the head of its local queue asks.
//
// An outsider, such as a waiter of Redisson, stands in no process queue. It can only take the lock while that
// is free, and for longer than a moment: a process that releases and asks again is faster than a JVM. So
// hand-offs of all kinds follow one another only for so long. Then comes a release with its message, if more
// connections listen for one than the process queue accounts for, and the processes of the queue and the one
// that released let the outsiders ask first.

// longestShut is for how long a lock goes round, in a process or between them, before it is left to
// outsiders, if any listen. Then it is theirs for openFor, and every eighth time for openLonger. That is
// enough for an outsider that needs 20 ms from the message to its question, as a busy JVM may. It ends when
// no outsider listens any more. One that listens and does not react costs the others a quarter of the time.
//
// A spin lock, a loop of TryLock, and a process without messages do not listen: to them a lock that goes
// round is never free. So after longestUnasked it is left free for openFor even if no outsider is known.
const (
	longestShut    = 25 * time.Millisecond
	longestUnasked = 250 * time.Millisecond
	openFor        = 4 * time.Millisecond
	openLonger     = 8 * openFor
)

// forTold is for how long, and two round trips, newcomers leave the lock to the process that a release of
// theirs has told.
const forTold = time.Millisecond

// Passable tells whether a waiter can be passed the lock: its lease is the watchdog's, and no shorter than
// that of a pass. Any other waiter is told.
func Passable(set *settings.Settings) bool {
	return set.Lease == 0 && set.Replicas == 0 && set.FirstLease() >= baselock.PassLease
}

// handed tells whether a waiter with these settings can be handed the lock by another process.
func handed(b *baselock.Base, set *settings.Settings) bool {
	return !b.Kind.Queue.Tells && Passable(set)
}

// canEnqueue tells whether the head of the local queue can stand in the process queue for its process. A head
// that is only told has to be the only one that is not told by the message to all, so the server has to
// know who listens.
func canEnqueue(b *baselock.Base, c *cohort.Cohort, set *settings.Settings) bool {
	return b.Row != "" && c.HearsHandOffs() && (handed(b, set) || set.Replicas == 0 && b.Session.KnowsListeners())
}

// Channels are those that a waiter's cohort listens to. One that waits for replicas asks in a way of its own
// and stands in no process queue, so it has to be counted among the outsiders, unless others of its process
// wait too: then a poll may be what wakes it.
func Channels(b *baselock.Base, set *settings.Settings) session.Channels {
	channels := session.Channels{Releases: b.Channel, Queue: b.Row,
		Handed: func(c *cohort.Cohort, message string) { passed(b, c, message) }}
	if !set.Unreported {
		channels.Kind = string(cmp.Or(b.Kind.Side.Queued, b.Kind.Label)) // the sides of a read-write lock wait in one queue
	}
	if b.Row != "" && set.Replicas == 0 {
		channels.Counted, channels.Ignored = row.Known(b.Row),
			func(message string) bool { return b.Orders() && row.ForOthers(message) }
	}
	return channels
}

// enqueue is Ask for the head of the local queue, under the identity of the candidate, which enters the
// process queue if it is refused. open says that the lock is free, but for what remains only for others.
func enqueue(ctx context.Context, b *baselock.Base, c *cohort.Cohort,
	set *settings.Settings) (h *baselock.Hold, remaining time.Duration, open bool, err error) {
	p := c.Candidacy.Ask(b.Session.NextCandidate)
	t := baselock.NewTenureAs(b, set, p.Owner)
	t.Announces = b.Announces(set)
	returned := false
	defer raise.Unless(&returned, func() { // a hook of the client may panic on this goroutine
		c.Candidacy.Failed(p)
		t.Doubted()
	})
	cmd := b.Kind.Queue.Enqueue(t.Asking(), b.RowKeys, baselock.Patience(set), !handed(b, set))
	reply, receipt, err := delivery.Deliver(ctx, b.Session.Dispatch, cmd,
		delivery.Limit{Outage: set.OutageFor(false), Patient: true})
	returned = true
	settle := false
	switch {
	case err != nil && !delivery.AsFailure(err).Doubt:
		settle = c.Candidacy.Refused(p, time.Time{}, 0)
	case err != nil:
		c.Candidacy.Failed(p)
		// It may stand in the queue, or hold.
		baselock.Abandon(delivery.AsFailure(err), cmd, func(row.Answer) bool { return true }, t)
	case reply.Held:
		c.Candidacy.Won(p)
		h, err = t.Accept(receipt, reply.Attempt)
		if receipt.Doubt {
			t.Doubted()
		}
	case receipt.Doubt: // the one that may still be executed would enter it when no call waits
		c.Candidacy.Failed(p)
		remaining = reply.Remaining
		t.Doubted()
	default:
		settle = c.Candidacy.Refused(p, receipt.Sent, reply.At)
		remaining, open = reply.Remaining, reply.Open
	}
	if settle {
		settleCandidate(b, c, p, set)
	}
	if h == nil && err == nil {
		refusedShare(b)
	}
	return h, remaining, open, err
}

// settleCandidate takes a candidate that is over out of the process queue, and has it release what it was
// handed.
func settleCandidate(b *baselock.Base, c *cohort.Cohort, p *cohort.Candidate, set *settings.Settings) {
	t := baselock.NewTenureAs(b, set, p.Owner)
	if c.Candidacy.InDoubt(p) {
		t.Doubted()
	}
	go t.GiveUp()
}

// HandOffRemotely releases the lock to the first process in the process queue, or for all. When the streak is
// over, the process of t enters the queue at its end for the waiters behind it. The first of these waiters is
// claimed, and holds if no other process is in the queue. all says that the release has left no waiter of
// this process out: the process is in the queue, or the message went to all processes.
func HandOffRemotely(ctx context.Context, t *baselock.Tenure, limit delivery.Limit,
	due cohort.Release) (all bool, err error) {
	b, in := t.Base, due.Cohort
	var promise *promise // nil: the streak is not over, or no call of this process waits
	if in != nil {
		promise = promised(due.Claim)
		defer promise.broken()
	}
	s, turn := t.Subject(0, 0), Turn(t)
	if t.Streak != nil { // a lone owner has the token that the counter has, and its release need not look at it
		turn.Token = s.Token
	}
	var p *cohort.Candidate
	if promise != nil {
		next := promise.to
		to := next.Subject(1, next.First.Set.FirstLease())
		turn.Next, turn.Block = to.Owner, blockFor(t, next.First.Set, in)
		if !next.Base.Announces(next.First.Set) { // an acquisition takes the announcement back
			turn.NextLease = to.Lease
		}
		if canEnqueue(b, in, next.First.Set) {
			if p = in.Candidacy.Enqueue(b.Session.NextCandidate); p != nil { // nil when all have left meanwhile
				turn.Candidate, turn.Patience, turn.Looks = p.Owner, baselock.Patience(next.First.Set), !handed(b, next.First.Set)
			}
		}
		// A lock that is set free for all processes goes to the fastest one. If that went on, a slower
		// process would always come too late. So the time since it was free begins anew here, and goes on
		// where the lock is passed on.
		in.CloseSince(time.Time{})
		if turn.Lease > 0 {
			in.CloseSince(t.Streak.Shut())
		}
	}
	var reply row.Release
	known := false
	defer func() { // also when a hook of the client panics
		stands := reply.Freed && !reply.Kept.Held && (reply.Told || !b.Orders())
		switch {
		case p == nil:
		case !known && in.Candidacy.Unknown(p), known && in.Candidacy.Enqueued(p, stands, reply.At):
			settleCandidate(b, in, p, t.Tenant.Set)
		}
	}()
	cmd := b.Kind.Queue.HandOff(s, turn)
	reply, receipt, err := delivery.Within(ctx, b.Session.Dispatch, cmd, limit)
	known = !receipt.Doubt && (err == nil || !delivery.AsFailure(err).Doubt)
	if receipt.Refused != nil && !reply.Freed {
		known = false // the refused one may have done all but the last step
	}
	if b.Orders() && turn.Whoever && !reply.Told {
		reply.Open = reply.Freed // by this process; those that stand in the queue would have been told
	}
	LeftOpen(b, reply)
	switch {
	case promise == nil:
	case err != nil:
		promise.failed(err, scripts.Map(cmd, func(r row.Release) scripts.Attempt { return r.Kept }))
	case reply.Kept.Held:
		begun := b.Begins(cohort.Streak{Began: receipt.Sent, News: receipt.Sent, Alone: true,
			ClosedSince: t.Streak.Shut()})
		promise.kept(begun, receipt, reply.Kept)
	default:
		if reply.Open {
			in.CloseSince(time.Time{})
		}
		switch {
		case b.Orders() && reply.Told && p != nil: // it stands behind the others, and is told
			in.Note(Refusal(-1)) // the head has not asked perhaps
			promise.end(cohort.Claim.End)
		default:
			promise.end(cohort.Claim.Yield)
		}
		if reply.Passed {
			in.Yields() // others have it already
		}
	}
	all = p != nil || !reply.Passed && !reply.Told
	if b.Orders() { // there is no message while others hold a share
		all = reply.Told && p != nil || !reply.Told && !b.Kind.Side.Shared
	}
	return err == nil && all, t.GaveBack(reply.Freed, receipt, err)
}

// LeftOpen has newcomers of this process leave the lock to those to whom the release has left it: to
// outsiders, or to the process that it has told, whose question comes a message later than one of this
// process would. They are told too where another process has been handed the lock: they would ask in vain.
func LeftOpen(b *baselock.Base, reply row.Release) {
	window := openFor
	switch {
	case reply.Longer:
		window = openLonger
	case reply.Told:
		window = forTold + 2*b.Session.Dispatch.Trip(b.Key)
	case reply.Passed:
		window = 0
	case !reply.Open:
		return
	}
	b.Session.Cohorts.Yield(b.Line, time.Now().Add(window), reply.Told)
}

// Turn says whether the lock may be passed once more.
func Turn(t *baselock.Tenure) row.Turn {
	turn := row.Turn{Row: t.Base.RowKeys, Known: t.Base.Common(), Lease: baselock.PassLease}
	if s := t.Streak; s != nil && !s.ClosedSince.IsZero() {
		turn.Shut = time.Since(s.ClosedSince)
		if turn.Shut >= longestShut {
			turn.Open, turn.Whoever = openFor, turn.Shut >= longestUnasked
			if !t.Base.Session.KnowsListeners() {
				turn.Lease = 0
			}
		}
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.Tenant.Offers && t.Base.Session.KnowsListeners() {
		turn.Open = openFor
	}
	turn.Attends = t.Base.Kind.Sharing != nil && t.Base.Session.Cohorts.Attends(t.Base.Line)
	return turn
}

// dequeue takes the process out of the process queue, because the head of its local queue cannot be handed
// the lock. A message that says so may get lost, and this head's questions, which are not the candidate's,
// would not find the lock until PassLease is over.
func dequeue(b *baselock.Base, c *cohort.Cohort, set *settings.Settings) {
	if p := c.Candidacy.Withdraw(); p != nil {
		settleCandidate(b, c, p, set)
	}
}

// passed is called with the message that says whose turn it is.
func passed(b *baselock.Base, c *cohort.Cohort, message string) {
	p, ok := row.Read(message)
	switch {
	case !ok:
		return
	case p.Looks:
		c.Wake()
		// A process without a waiter was told, and does not ask. The release of an owner that holds nothing
		// has the next one told.
		if b.Orders() && c.Len() == 0 {
			b.Dismiss(b.Session.NextOwner())
		}
		return
	}
	gift, claim, since := c.HandedTo(p.Owner, p.At)
	switch gift {
	case cohort.Declined:
		b.Dismiss(p.Owner)
	case cohort.Claimed:
		give(b, p, claim, since)
	}
}

// give has the claimed waiter hold what was passed to its process.
func give(b *baselock.Base, p row.Message, claim cohort.Claim, since time.Time) {
	next := claim.Who().(*Caller)
	if !Passable(next.Set) {
		claim.Refuse()
		b.Dismiss(p.Owner)
		return
	}
	now, trusted := clock.Now(), since.Add(baselock.PassLease-watchdog.Margin(baselock.PassLease))
	t := baselock.NewTenureAs(next.Base, next.Set, p.Owner)
	t.Streak = t.Base.Begins(cohort.Streak{Began: now, News: since, Blur: cohort.Blurred,
		ClosedSince: now.Add(-p.Shut)})
	if !now.Before(trusted) { // the message took too long
		go t.GiveUp()
		claim.Refuse()
		return
	}
	// Since may be long before the pass, and WithMaxHold counts from here.
	given := t.Begin(now, trusted, scripts.Attempt{Token: p.Token})
	given.Path = baselock.Passed
	if !claim.Give(given, cohort.Bound(-1, next.Set.Poll)) {
		go given.Decline()
	}
}

// Listening is how many connections of this process listen for releases.
func Listening(line *cohort.Cohort) int {
	if line.Hears() {
		return 1
	}
	return 0
}

// YieldFor is for how long a process leaves a lock free, now and then, where the waiters of other processes
// only poll.
const YieldFor = openFor
