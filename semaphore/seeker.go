package semaphore

import (
	"time"

	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
	script "github.com/redlatch/redlatch/internal/scripts/semaphore"
)

// A seeker is a call of Acquire, and at the same time its attempts that are for itself alone: of permits
// without names, one is like the other.
type seeker struct {
	semaphore *Semaphore
	wants     []int64    // in order; the first is the seeker's own
	own       [1]int64   // what wants is, of one alone
	size      *lane.Size // of the semaphore, if the seeker or one of those behind it knows that
}

func newSeeker(s *Semaphore, n int64) *seeker {
	k := &seeker{semaphore: s, own: [1]int64{n}, size: s.made().Size}
	k.wants = k.own[:]
	return k
}

// Begin makes an attempt for all of behind too.
func (k *seeker) Begin(behind []counter.Seeker) counter.Attempt {
	if len(behind) == 0 {
		return k
	}
	all := &seeker{semaphore: k.semaphore, wants: append(make([]int64, 0, 1+len(behind)), k.own[0]), size: k.size}
	for _, other := range behind {
		o := other.(*seeker)
		all.wants = append(all.wants, o.own[0])
		if all.size == nil {
			all.size = o.size
		}
	}
	return all
}

// Abandon gives back the seeker's own permits: later they cannot be told from others.
func (k *seeker) Abandon() { k.Begin(nil).Decline([]int{0}) }

// Owner is nothing: a permit has no owner.
func (k *seeker) Owner() string { return "" }

// Told does nothing: what has no owner has no end.
func (k *seeker) Told(*observe.Hold) {}

// Receive has nothing to take: permits that have moved are the seeker's already.
func (k *seeker) Receive(any) {}

func (k *seeker) Asks() int                 { return len(k.wants) }
func (k *seeker) Unstored() bool            { return false }
func (k *seeker) Announces() bool           { return k.size != nil }
func (k *seeker) Owed() time.Duration       { return 0 }
func (k *seeker) Took(int, time.Time) error { return nil }

func (k *seeker) Take(wake scripts.Wake, candidate row.Candidate, call lane.Call) scripts.Command[lane.Granted] {
	if k.size != nil {
		return script.AcquireSized(k.semaphore.counter.Key, k.wants, *k.size, wake, candidate, call)
	}
	if candidate.ID != "" {
		return script.Wait(k.semaphore.counter.Key, k.wants, wake, candidate, call)
	}
	return script.Acquire(k.semaphore.counter.Key, k.wants, call)
}

func (k *seeker) Undo(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return script.CancelAcquire(k.semaphore.counter.Key, k.wants, wake, call)
}

// Decline gives back the permits of several in one.
func (k *seeker) Decline(which []int) {
	n := int64(0)
	for _, i := range which {
		n += k.wants[i]
	}
	k.semaphore.giveBackLater(n)
}
