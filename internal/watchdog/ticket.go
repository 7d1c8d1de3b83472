package watchdog

import (
	"context"
	"sync/atomic"
	"time"
)

// Send renews or checks what is due at one server, in one pipeline if it can. It calls answer once for each
// script, from any goroutine: alive[i] tells whether the script's ticket i is still its owner's. An error
// means that nothing is known about any of them; a ticket that alone spoils its script (a key of a foreign
// type, say) is "not alive", not an error, or its companions would be lost with it. Send may block, and
// several run at once, also for the same tickets. ctx ends when the watchdog no longer cares.
//
// A ticket may be forgotten while Send runs, so what Send reads of an owner must stay readable then.
type Send func(ctx context.Context, due []Script, answer func(script int, alive []bool, err error))

// A Script is a few tickets that travel together.
type Script struct {
	Batch   Batch
	Tickets []*Ticket
}

// A Batch says which tickets may travel in one script.
type Batch struct {
	Kind   string // the renewal script
	Shard  int    // the cluster slot; 0 elsewhere
	Server any    // comparable: scripts of one server share round trips, and what becomes of them
}

// An Owner has a ticket and is told when it is lost.
type Owner interface {
	// Batch is asked before each send, with no lock of the watchdog held. It must not block.
	Batch() Batch

	// Lost is called once per loss, on a goroutine of its own and with no lock of the watchdog held. The reason
	// is one of the constants below; the cause is what the last send failed with, or nil. No Lost begins after
	// Forget has returned, but one that began before may still be running: the owner settles that with its own
	// mutex.
	Lost(reason string, cause error)
}

// Why a ticket was lost, in the words of redlatch.LossReason.
const (
	NotOwned   = "taken"
	Unanswered = "unanswered"
	LeaseOver  = "lease_over"
	HoldOver   = "limit_over"
)

// Terms are the conditions on which a ticket is kept.
type Terms struct {
	Lease   time.Duration // what each renewal asks for; 0: only check, do not extend
	Every   time.Duration // period of sends, at most a third of Lease
	Trusted time.Time     // trust ends here unless a renewal moves it; monotonic
	Margin  time.Duration // kept off each lease: trusted = before the send + Lease - Margin

	// End is zero or the moment past which no renewal may reach. Trust never goes beyond it, and trust that a
	// renewal gave ends a Margin before it, as the lease that was asked for ends there.
	End time.Time
}

// A Ticket is one thing kept. It is embedded in its owner by value, so that holding costs no further
// allocation. It belongs to one owner and one watchdog from its first Keep on and must not be copied.
type Ticket struct {
	dog     *Watchdog // nil before the first Keep; it and owner never change afterwards
	owner   Owner
	trusted atomic.Int64 // end of trust, an instant; written under dog.mu

	// The rest is guarded by dog.mu.

	schedule *schedule // nil before the first Keep
	due      instant   // next send; never when none is planned
	newest   *item     // sends in flight that are still of interest, newest first, at most maxInFlight
	cause    *failure  // of the last send that was answered, nil when it succeeded

	place    int32  // position among the deadlines plus 1; 0: not kept
	keeping  uint32 // counts Keep and Forget: which registration an answer belongs to
	version  uint32 // counts changes of lease or end: whether it is known what a send in flight asked for
	failures uint8  // sends failed in a row, at most maxFailures
}

// A schedule is what terms say but for the present trust. Most holds of a program have the same, so it is
// shared, and does not change.
type schedule struct {
	lease, every, margin time.Duration
	end                  instant // never when there is none
}

// maxFailures is where the pause between failures stops growing.
const maxFailures = 5

// A failure is shared by all tickets of one send.
type failure struct{ err error }

// Owner is the owner for which the ticket was first kept.
func (t *Ticket) Owner() Owner { return t.owner }

// TrustedUntil returns the moment up to which the ticket may be relied on, by the clock alone. A loss before
// that moment moves it back to the moment of the loss; Forget leaves it. It is in the past for a ticket that
// was never kept.
func (t *Ticket) TrustedUntil() time.Time {
	until := instant(t.trusted.Load())
	if until == 0 { // the epoch would do, but a fake clock may be years before it
		return time.Time{}
	}
	return until.time()
}

// Lease is the TTL to ask for in a send made now. 0 means to check only. It never reaches past Terms.End, to
// which whole milliseconds are left, the resolution of Redis: a part of one would be rounded up.
func (t *Ticket) Lease(now time.Time) time.Duration {
	if t.dog == nil {
		return 0
	}
	t.dog.mu.Lock()
	defer t.dog.mu.Unlock()
	return max(0, min(t.schedule.lease, time.Duration(t.schedule.end-instantOf(now)).Truncate(time.Millisecond)))
}

// Promised is how long the lease still lasts that the ticket has by now, in whole milliseconds, as Lease. A
// check may put that right where another program has shortened it. It is 0 when the lease is over.
func (t *Ticket) Promised(now time.Time) time.Duration {
	if t.dog == nil {
		return 0
	}
	t.dog.mu.Lock()
	defer t.dog.mu.Unlock()
	until := min(t.trustedUntil()+instant(t.schedule.margin), t.schedule.end)
	return max(0, time.Duration(until-instantOf(now)).Truncate(time.Millisecond))
}

// trustedUntil is TrustedUntil for the machinery.
func (t *Ticket) trustedUntil() instant { return instant(t.trusted.Load()) }

// nextLocked is the next moment at which something must be done for t.
func (t *Ticket) nextLocked() instant { return min(t.due, t.trustedUntil()) }

// trustLocked moves the end of trust forward.
func (t *Ticket) trustLocked(until instant) {
	until = min(until, t.schedule.end)
	if until > t.trustedUntil() {
		t.trusted.Store(int64(until))
	}
}

// firstSendLocked is when to send for a ticket of which no send is in flight and none has failed. A third of
// what is left counts when it is less than the period: the acquisition may have taken most of its lease to
// answer.
func (t *Ticket) firstSendLocked(now instant) instant {
	wait := t.schedule.every
	if t.schedule.lease > 0 {
		left := time.Duration(t.trustedUntil()-now) + t.schedule.margin
		wait = max(0, min(wait, left/3))
	}
	return now + instant(wait)
}

// slackLocked is how much too early a send may be made to travel with others. Retries and doubled sends keep
// their time: neighbours would shorten every pause.
func (t *Ticket) slackLocked() instant {
	if t.newest != nil || t.failures > 0 {
		return 0
	}
	return instant(t.schedule.every / 4)
}

// doubleAfterLocked is how long a send may be unanswered before another is made: a sixth of the lease.
func (t *Ticket) doubleAfterLocked() instant { return instant(t.schedule.every / 2) }

// pauseLocked is how long to wait after the latest failure. With a lease of 30 s and errors at once, sends
// are made 10, 10.5, 11.5, 13.5, 17.5, 22.5 and 27.5 s after the last success. The first pauses are short,
// for many a failure is that of a connection which has broken while nothing was sent.
func (t *Ticket) pauseLocked() instant {
	return instant(min(t.schedule.every/20<<(t.failures-1), t.schedule.every/2))
}
