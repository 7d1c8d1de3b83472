package cohort

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/lockorder"
)

// A Queue is the local queue: the waiters of one process for one thing. They are served in their order of
// arrival, and only the head asks, so a process has at most one attempt under way however many of its
// goroutines wait.
//
// A wake-up carries no data: it makes the head ask once more. The wake-up belongs to the queue and not to the
// waiter that happened to be its head, so a waiter that leaves takes no wake-up with it.
//
// A holder of this process may give the thing to the first waiter, which then need not ask: see
// [Queue.Claim].
//
// The zero value is not ready; use [NewQueue].
type Queue struct {
	confirmed func() <-chan struct{} // nil: there are no wake-ups, only polling
	woken     chan struct{}          // capacity 1: a wake-up that no attempt has looked at yet

	mu      lockorder.Mutex[lockorder.Queue]
	waiters []*waiter // in order of arrival
	// the first waiter is the head; else that waiter sleeps until it is given the thing, or made the head
	headed bool
	last   uint64      // number of the latest arrival
	called bool        // the head asks as soon as it can
	eager  bool        // the head asks as soon as wake-ups are confirmed
	due    time.Time   // when the head asks again without a wake-up
	yields bool        // the next attempt lets other processes ask first
	alarm  *time.Timer // wakes a queue without a head

	claimers []chan *waiter // capacity 1: holders that wait to claim the first waiter
	// what the latest attempt has found out so far, a refusal or a failure; nil: nothing yet, or a success
	found error
}

// NewQueue makes an empty queue. confirmed gives the channel that is closed once wake-ups can arrive.
func NewQueue(confirmed func() <-chan struct{}) *Queue {
	return &Queue{confirmed: confirmed, woken: make(chan struct{}, 1), eager: true}
}

// Wake makes the head ask again. It never blocks, and any number of wake-ups that come before the head looks
// are one.
func (q *Queue) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ringLocked()
}

func (q *Queue) ringLocked() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
	if !q.headed {
		q.promoteLocked()
	}
}

// Note tells the waiters behind the head what its attempt has found out, also while the attempt is still
// under way.
func (q *Queue) Note(found error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.found = found
}

// Found is what was noted last.
func (q *Queue) Found() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.found
}

// Len is the number of waiters.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiters)
}

// Oldest is the number of waiters, and since when the first of them waits.
func (q *Queue) Oldest() (waiters int, since time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiters) > 0 {
		since = q.waiters[0].since
	}
	return len(q.waiters), since
}

// join puts a waiter at the end. A waiter that is alone is the head, unless its request expects a hand-off
// and no news have come since the expectation arose.
func (q *Queue) join(request *Request) (w *waiter, head bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	w = &waiter{number: q.last, since: clock.Now(), request: request, signal: make(chan signal, 2)}
	q.waiters = append(q.waiters, w)
	if len(q.waiters) > 1 {
		return w, false
	}
	q.headed = request == nil || !request.Expected || q.newsLocked()
	if !q.headed {
		q.alarmLocked(request.Poll)
	}
	return w, q.headed
}

// leave takes w out. If w was the head its successor is made the head. call makes that one ask at once: a
// wake-up may have been consumed without an answer, or there may be more to have. leave reports whether w had
// been served before.
func (q *Queue) leave(w *waiter, call bool) (served bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	served = w.leaveLocked()
	if i := slices.Index(q.waiters, w); i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
		if i == 0 && q.headed {
			q.called = q.called || call
			q.promoteLocked()
		}
	}
	q.admitLocked()
	return served
}

func (q *Queue) promoteLocked() {
	q.headed = len(q.waiters) > 0
	if q.headed {
		q.waiters[0].signal <- lead
	}
}

// dismiss ends the wait, with err, of every waiter that was in the queue when number was the latest arrival:
// the head's attempt was for all of them.
func (q *Queue) dismiss(number uint64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.found = err
	n := 0
	for n < len(q.waiters) && q.waiters[n].number <= number {
		q.waiters[n].serveLocked(err)
		n++
	}
	q.waiters = slices.Delete(q.waiters, 0, n)
	q.called = true
	q.promoteLocked()
	q.admitLocked()
}

// newsLocked tells whether there are wake-ups that no attempt has answered.
func (q *Queue) newsLocked() bool { return q.called || len(q.woken) > 0 }

// alarmLocked sees to it that a queue without a head does not sleep for ever on a promise. One alarm serves
// all waiters that become the first before it rings, so for the last of them it may ring sooner than poll.
func (q *Queue) alarmLocked(poll time.Duration) {
	if q.alarm != nil {
		return
	}
	q.alarm = time.AfterFunc(poll, func() {
		q.mu.Lock()
		q.alarm = nil
		waits := len(q.waiters) > 0 && !q.headed
		q.mu.Unlock()
		if waits {
			q.Wake()
		}
	})
}

// Stop forgets the alarm, when the last waiter has left and none will come.
func (q *Queue) Stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.alarm != nil {
		q.alarm.Stop()
	}
}

// claimableLocked tells whether the first waiter can be given something, now or after its attempt.
func (q *Queue) claimableLocked() bool { return len(q.waiters) > 0 && q.waiters[0].request != nil }

// claimLocked claims the first waiter, and answers nil if that cannot be claimed now.
func (q *Queue) claimLocked() *waiter {
	if !q.claimableLocked() || q.waiters[0].state != queued {
		return nil
	}
	q.waiters[0].state = claimed
	return q.waiters[0]
}

// admitLocked answers the claimers that wait as soon as the first waiter can be claimed, or no waiter ever
// can. In the second case the answer is nil.
func (q *Queue) admitLocked() {
	for len(q.claimers) > 0 {
		w := q.claimLocked()
		if w == nil && q.claimableLocked() {
			return
		}
		q.claimers[0] <- w
		q.claimers = slices.Delete(q.claimers, 0, 1)
	}
}
