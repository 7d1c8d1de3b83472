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

// A seeker is a call of Acquire, and its attempts at the same time: of permits without names, one is like the
// other.
type seeker struct {
	counter   *counter.Counter
	n, beside int64      // how many permits it wants, and an attempt may take for others of its process
	size      *lane.Size // of the semaphore, if its maker has said so
}

func newSeeker(c *counter.Counter, n int64) *seeker { return &seeker{c, n, 0, c.Size} }

// Begin makes an attempt, which is the seeker itself if it takes nothing beside and knows the size as well.
func (k *seeker) Begin(beside int64, size *lane.Size) counter.Attempt {
	if k.size != nil {
		size = k.size
	}
	if beside == 0 && size == k.size {
		return k
	}
	return &seeker{k.counter, k.n, min(beside, lane.MostBeside/k.n*k.n), size}
}

// Spare gives back permits that are one like the other.
func (k *seeker) Spare(n int64) { giveBackLater(k.counter, n) }

// Abandon gives back the seeker's own permits, which nothing can tell from others later.
func (k *seeker) Abandon() { giveBackLater(k.counter, k.n) }

// Owner is nothing: a permit has no owner.
func (k *seeker) Owner() string { return "" }

// Told does nothing: what has no owner has no end.
func (k *seeker) Told(*observe.Hold) {}

// Receive has nothing to take: permits that have moved are the seeker's already.
func (k *seeker) Receive(any) {}

func (k *seeker) Unstored() time.Duration { return 0 }
func (k *seeker) Announces() bool         { return k.size != nil }
func (k *seeker) Took(time.Time) error    { return nil }

func (k *seeker) Take(wake scripts.Wake, candidate row.Candidate, call lane.Call) scripts.Command[lane.Granted] {
	switch key := k.counter.Key; {
	case k.size != nil:
		return script.AcquireSized(key, k.n, k.beside, *k.size, wake, candidate, call)
	case candidate.ID != "":
		return script.Wait(key, k.n, k.beside, wake, candidate, call)
	default:
		return script.Acquire(key, k.n, call)
	}
}

func (k *seeker) Undo(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return script.CancelAcquire(k.counter.Key, k.n, wake, call)
}

// giveBackLater gives back n permits without waiting for it. A semaphore that was deleted meanwhile took them
// with it.
func giveBackLater(c *counter.Counter, n int64) {
	go counter.GiveBackLater(c, func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.ReleaseIfExists(c.Key, n, wake, call)
	})
}
