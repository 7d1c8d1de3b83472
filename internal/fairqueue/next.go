package fairqueue

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// A Plan is a task with what belongs to it.
type Plan struct {
	Task   Task
	Others []*Waiter // of All: whose entries to confirm
	Carry  *Carry    // of Enter: w itself is the first of its arrivals
	Handed *HandedTo // of Handed
	Grant  any       // of Served
}

// Next waits until the waiter has something to do, and tells what. confirmed is closed once messages arrive;
// nil if none will, or if Next has seen it before. After Enter comes Carried, after Alone, All and Again
// Answer or Fail, or Leave.
func (w *Waiter) Next(ctx context.Context, confirmed *<-chan struct{}) (Plan, error) {
	for {
		err := ctx.Err()
		plan, sleep := w.queue.plan(w, time.Now(), err != nil)
		if plan.Task != Nothing || err != nil {
			return plan, err
		}
		w.rest(ctx, confirmed, sleep)
	}
}

// rest returns when there may be something to do.
func (w *Waiter) rest(ctx context.Context, confirmed *<-chan struct{}, sleep time.Duration) {
	var alarm <-chan time.Time
	if sleep >= 0 {
		timer := time.NewTimer(sleep)
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-*confirmed:
		*confirmed = nil
		w.confirmedNow()
	case <-w.signal:
	case <-alarm:
	case <-ctx.Done():
	}
}

// patientFor is for how long a waiter is the front until it listens to its own channel, on which a holder of
// Redisson's, or a force-unlock by it, wakes it. It does so at once where one of Redisson's is seen.
const patientFor = 20 * time.Millisecond

// plan is what w has to do now, or how long it has nothing to do: negative for until it is roused. One that
// is over only learns of what it was given.
func (q *Queue) plan(w *Waiter, now time.Time, over bool) (p Plan, sleep time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case w.stage == served:
		return Plan{Task: Served, Grant: w.grant}, 0
	case over:
		return p, 0
	case w.stage == outside, w.stage == entering:
		return q.enterLocked(w, now)
	case w.handed != nil:
		h := w.handed
		if w.handed = nil; h.At > w.refused {
			return Plan{Task: Handed, Handed: h}, 0
		}
		w.asking = true // it was refused after that, or in the same millisecond
		return Plan{Task: Alone}, 0
	case w.lacks && (q.carrying || q.firstLackingLocked() != w):
		return p, -1
	case w.lacks:
		q.carrying, w.anew, w.asking = true, true, true
		return Plan{Task: Again}, 0
	case q.waiters[0] != w:
		return p, -1
	}
	if w.first.IsZero() {
		w.first = now
	}
	at := q.refreshLocked()
	if q.due.Before(at) {
		at = q.due
	}
	listen := w.first.Add(patientFor)
	p.Task, w.ask = w.ask, Nothing
	switch {
	case !now.Before(at):
		p.Task = All
	case p.Task != Nothing:
	case !w.listens && (q.foreign || !now.Before(listen)):
		return Plan{Task: Listen}, 0
	case !w.listens && listen.Before(at):
		return p, listen.Sub(now)
	default:
		return p, at.Sub(now)
	}
	w.asking = true
	if p.Task == All {
		for _, other := range q.waiters {
			if other != w && !other.lacks {
				p.Others = append(p.Others, other)
			}
		}
	}
	return p, 0
}

// confirmedNow is Wake for the moment from which messages arrive: what was sent before it is found by the
// front that asks now. To any other waiter nothing was sent, for it was not the first.
func (w *Waiter) confirmedNow() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiters) > 0 && q.waiters[0] == w {
		q.askLocked(Alone)
	}
}

// Late ends Handed for a waiter that heard of it too late to hold. Its entry is gone.
func (w *Waiter) Late() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	w.lacks = true
	q.arrangeLocked()
	q.waiters[0].rouse()
	q.rouseLackingLocked()
}

// Fail ends a task of the waiter's own that had no answer.
func (w *Waiter) Fail() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	w.queue.askedLocked(w)
}

func (q *Queue) askedLocked(w *Waiter) {
	w.asking = false
	if w.anew {
		q.carrying, w.anew = false, false
		q.rouseOutsideLocked()
	}
}

// refreshes is how often in its patience an entry is confirmed: two may be lost without harm.
const refreshes = 3

// refreshLocked is when the entries have to be confirmed.
func (q *Queue) refreshLocked() time.Time {
	least := q.waiters[0].Patience
	for _, w := range q.waiters {
		least = min(least, w.Patience)
	}
	return q.fresh.Add(least / refreshes)
}

// Answer is what the waiter found out by a task that did not bring it the lock: when to ask next, and at
// which places it and the others stand, -1 where there is no entry. asked is a moment before the attempt.
func (w *Waiter) Answer(task Task, asked time.Time, at int64, foreign bool, again time.Duration, place int,
	others []*Waiter, places []int) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.askedLocked(w)
	q.clockLocked(asked, at)
	q.foreign = foreign
	w.refused = at
	w.place, w.lacks = place, false
	if task == Again {
		w.place = last // what is known of the others' places is older
		q.arrangeLocked()
		q.rouseLackingLocked()
		if q.waiters[0] == w {
			q.dueLocked(asked, again)
		}
		return
	}
	q.dueLocked(asked, again)
	if task != All {
		return
	}
	q.fresh = asked
	for _, other := range q.waiters {
		if other != w {
			other.place = last // unless the answer knows better: it may have entered meanwhile
		}
	}
	for i, other := range others {
		other.place = places[i]
		other.lacks = places[i] < 0
	}
	q.arrangeLocked()
	q.rouseLackingLocked()
	if q.waiters[0] != w { // it has lost its place, and is behind another waiter of this process
		q.askLocked(Alone)
	}
}

// company is for how long a waiter whose process waits or holds already waits for a command that makes its
// entry together with others.
const company = 2 * time.Millisecond

// enterLocked is what a waiter without an entry has to do now, or how long it has nothing to do.
func (q *Queue) enterLocked(w *Waiter, now time.Time) (plan Plan, sleep time.Duration) {
	if w.stage == entering || q.carrying || q.outside[0] != w || q.firstLackingLocked() != nil {
		return Plan{}, -1
	}
	if rest := w.came.Add(company).Sub(now); rest > 0 && (len(q.waiters) > 0 || q.held || w.behind) {
		return Plan{}, rest
	}
	return Plan{Task: Enter, Carry: q.loadLocked(Most)}, 0
}

// arrangeLocked puts the waiters into the order of their entries, and the ones without an entry behind them.
func (q *Queue) arrangeLocked() {
	slices.SortStableFunc(q.waiters, func(a, b *Waiter) int {
		switch {
		case a.lacks && b.lacks:
			return 0
		case a.lacks:
			return 1
		case b.lacks:
			return -1
		}
		return cmp.Compare(a.place, b.place)
	})
}
