package fairqueue

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Next waits until the waiter has something to do, and tells what; for All, also whose entries to confirm. confirmed is
// closed once messages arrive; nil if none will, or if Next has seen it before. After a task comes Answer, or Leave.
func (w *Waiter) Next(ctx context.Context, confirmed *<-chan struct{}) (Task, []*Waiter, error) {
	if err := ctx.Err(); err != nil {
		return Nothing, nil, err
	}
	for {
		task, others, sleep := w.queue.task(w, time.Now())
		if task != Nothing {
			return task, others, nil
		}
		if err := w.rest(ctx, confirmed, sleep); err != nil {
			return Nothing, nil, err
		}
	}
}

// rest returns when there may be something to do.
func (w *Waiter) rest(ctx context.Context, confirmed *<-chan struct{}, sleep time.Duration) error {
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
		return ctx.Err()
	}
	return nil
}

// task is what w has to do now, or how long it has nothing to do: negative for until it is roused.
func (q *Queue) task(w *Waiter, now time.Time) (task Task, others []*Waiter, sleep time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.lacks {
		if q.firstLackingLocked() == w {
			return Again, nil, 0
		}
		return Nothing, nil, -1
	}
	if q.waiters[0] != w {
		return Nothing, nil, -1
	}
	at := q.refreshLocked()
	if q.due.Before(at) {
		at = q.due
	}
	task, w.ask = w.ask, Nothing
	switch {
	case !now.Before(at):
		task = All
	case task == Nothing:
		return Nothing, nil, at.Sub(now)
	}
	if task == All {
		for _, other := range q.waiters {
			if other != w && !other.lacks {
				others = append(others, other)
			}
		}
	}
	return task, others, 0
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

// Answer is what the waiter found out by a task that did not bring it the lock: when to ask next, and at which places
// it and the others stand, -1 where there is no entry. asked is a moment before the attempt.
func (w *Waiter) Answer(task Task, asked time.Time, again time.Duration, place int, others []*Waiter, places []int) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
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
	if q.waiters[0] != w { // it has lost its place, and is behind another of ours
		q.askLocked(Alone)
	}
}

// last is the place of a waiter whose place is not known, because nobody stands behind it.
const last = int(^uint(0) >> 1)

// arrangeLocked puts the waiters into the order of their entries, and those without behind them.
func (q *Queue) arrangeLocked() {
	slices.SortStableFunc(q.waiters, func(a, b *Waiter) int {
		if a.lacks != b.lacks {
			if a.lacks {
				return 1
			}
			return -1
		}
		if a.lacks {
			return 0
		}
		return cmp.Compare(a.place, b.place)
	})
}
