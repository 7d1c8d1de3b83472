package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
)

// A reader that follows a writer of its process by a local hand-off has the write hold on loan: Redis goes on to name the writer.
// Others of the process join the reader, and the last of them hands the write hold on to the next writer, so readers and writers
// alternate without a command for as long as the streak lasts.
//
//	writer ── local hand-off ──► readers, on loan ── the last of them leaves: local hand-off ──► writer
//	                                  │ one script
//	                                  ▼
//	                             readers, as Redis knows them
//
// Readers of other processes are kept out meanwhile. So the script comes when the streak is over, by a timer where no call comes; and
// whenever a command about the reader is needed before: for news, for a re-entry, for a longer lease, for a renewal. It removes the
// writer's field and adds the reader's. The names of the two fields differ by what follows the owner. No script makes the writer's
// field anew, so an execution that comes late finds the reader's field, or none. From the first send of the script on, this process
// does not know which of the two fields there is. Then it hands nothing on locally, and a release removes both.

// side is the one on which Redis knows o as a holder.
func (o *owner) side() *Side {
	if o.onLoan() {
		return o.lender.Kind.side()
	}
	return o.base.Kind.side()
}

// onLoan tells whether Redis knows o as a writer, for certain.
func (o *owner) onLoan() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shared.OnLoan()
}

// turning tells whether Redis may know o as a writer or as a reader.
func (o *owner) turning() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shared.Borrowed() && !o.shared.OnLoan()
}

// borrowed is the writer's field that Redis may have for o, empty if it has none.
func (o *owner) borrowed() string {
	if o.lender == nil {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.shared.Borrowed() {
		return ""
	}
	return o.id + o.lender.Kind.side().Field
}

// lends tells whether to can follow o while Redis goes on to know o as it does now.
func (o *owner) lends(to *owner) bool {
	side, other := o.side(), to.base.Kind.side()
	return !side.Shared && (side == other || side.Cohort == other.Cohort && to.base.joins(to.set))
}

// lend has to begin with what o has.
func (o *owner) lend(to *owner) {
	lender := o.base
	if o.base.Kind.Confirm != nil {
		lender = o.lender
		o.mu.Lock()
		streak := *o.streak // those that have left o may still look at its news
		o.shared.HandOn()
		o.mu.Unlock()
		to.streak = &streak
	}
	if to.base.Kind.Confirm != nil {
		to.lender, to.most = lender, 0
		to.shared.Lend()
	}
}

// question is the subject of a script that asks Redis about o. If o is on loan the script ends the loan.
func (o *owner) question() Subject {
	host := o.borrowed()
	if host == "" {
		return o.subject(0, 0)
	}
	o.mu.Lock()
	o.shared.Turn()
	o.mu.Unlock()
	s := o.subject(1, max(o.ticket.Promised(time.Now()), time.Millisecond))
	s.Host = host
	return s
}

// turned follows the answer to a question that has ended a loan.
func (o *owner) turned() {
	o.mu.Lock()
	o.shared.Turned()
	o.mu.Unlock()
	b := o.base
	b.Session.Cohorts.Admit(&o.post)
	if _, line, _ := b.shared(); line != nil {
		wakeReaders(line)
	}
}

// renewal is the renewal of an owner that Redis may know as a writer. An owner that was given back meanwhile has none, for it may have
// handed the write hold on.
func (o *owner) renewal(now time.Time) (scripts.Command[scripts.Kept], bool) {
	o.mu.Lock()
	due := o.live > 0 && o.shared.Borrowed()
	if due {
		o.shared.Turn()
	}
	o.mu.Unlock()
	if !due {
		return scripts.Command[scripts.Kept]{}, false
	}
	s := o.question()
	s.Lease = max(s.Lease, o.ticket.Lease(now))
	return scripts.Map(o.base.Kind.Confirm(s), func(c rwlock.Confirmation) scripts.Kept { return scripts.Kept{Alive: []bool{c.Held}} }), true
}
