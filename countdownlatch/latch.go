// Package countdownlatch is a gate that processes share by name and that opens when a count reaches zero,
// compatible with Redisson's RCountDownLatch.
//
//	done := countdownlatch.New(rdb, "import:7")
//	set, err := done.TrySetCount(ctx, 3) // false: it is set already, by another run of the work
//	...
//	err = done.CountDown(ctx) // in each of three workers
//	...
//	err = done.Await(ctx) // in each process that waits: nil when all three have counted
//
// The latch is one number in Redis. When it reaches zero it is deleted, and can be set again. Set the count
// before the work starts, because CountDown does nothing to a latch that does not exist.
//
//	         TrySetCount                the last CountDown
//	not set ─────────────► counting ─────────────────────────► counted down   Await: nil
//	ErrNotSet                  │ Delete ─────────────────────► deleted        Await: ErrDeleted
//	                           └ its TTL runs out ───────────► expired        Await: ErrExpired
//
// How the latch ended is kept beside it in Redis for a day. A latch that is set again is a new one: a call
// that waits for the old one is told how that ended.
//
// Redisson keeps no such record. A latch that is gone before its TTL is over, without a word about it, is
// taken for one that another program has counted down, because that is how Redisson's count-downs look. So is
// one that was removed with other means than Delete, or was evicted. A call of Await during which the server
// loses everything that it had returns ErrExpired.
//
// Every operation takes effect once, whatever happens to its messages. If the outcome of one cannot be found
// out in time, its error matches ErrUncertain; it is settled in the background and must not be repeated.
package countdownlatch

import (
	"context"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	script "github.com/redlatch/redlatch/internal/scripts/countdownlatch"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Latch is a count-down latch shared by every process that uses the same name on the same Redis. It is safe
// for concurrent use and needs no closing.
type Latch struct {
	counter *counter.Counter
	keys    script.Names

	together counter.Together
}

// New makes a latch. It does no I/O: the count is set with TrySetCount, by any process. It panics if the
// client is nil or of a kind that cannot be used; a bad name or option is reported by the calls. Options:
// WithWait, WithTTL, and those that every primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Latch {
	c := counter.New(client, name, redlatch.KindLatch, keys.LatchChannel, settings.Wait|settings.TTL, opts)
	return &Latch{counter: c, keys: script.NamesOf(c.Key)}
}

// made is the counter of a latch that New has made.
func (l *Latch) made() *counter.Counter {
	return errs.Made(l.counter, "countdownlatch.Latch is used without New; make it by countdownlatch.New")
}

// Name returns the name that the latch was made with.
func (l *Latch) Name() string { return l.made().Name }

// TrySetCount sets the count of a latch that does not exist, and reports whether it did. When it did not, the
// latch counts already, perhaps what is left of an earlier run: a program that ignores that may wait for too
// little. With WithTTL the latch is gone after that time, and Await returns ErrExpired then.
func (l *Latch) TrySetCount(ctx context.Context, n int64, opts ...redlatch.Option) (bool, error) {
	set, err := l.made().Resolve("TrySetCount", settings.TTL, opts)
	if err != nil {
		return false, err
	}
	if n < 1 {
		return false, errs.Wrong("TrySetCount(%d): the count is at least 1; a latch without a count is open", n)
	}
	epoch := script.NewEpoch()
	return counter.ChangeThen(ctx, l.made(), set, func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.TrySetCount(l.keys, n, set.TTL, epoch, wake, call)
	}, nil)
}

// CountDown takes one from the count; the latch opens at zero. It ignores the cancellation of ctx and has a
// time limit of its own ([redlatch.WithReleaseTimeout]); what is in doubt by then is carried through in the
// background, and the error matches ErrUncertain. If the latch does not exist nothing happens. Calls that
// come at the same time share a command.
func (l *Latch) CountDown(ctx context.Context) error {
	// the script does all or nothing
	return l.made().GaveBack(ctx, redlatch.EventCounted, 0, l.together.Do(l.made(), func(calls int64) error {
		_, err := counter.GiveBack(ctx, l.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
			return script.CountDown(l.keys, calls, wake, call)
		})
		return err
	}))
}

// Count returns how many count-downs are left until the latch opens, 0 when it does not exist: Await says
// why.
func (l *Latch) Count(ctx context.Context) (int64, error) {
	return counter.Query(ctx, l.made(), script.Count(l.keys.Latch))
}

// Delete removes the latch, and reports whether there was one. Calls of Await that wait for it return
// ErrDeleted.
func (l *Latch) Delete(ctx context.Context) (bool, error) {
	return counter.Change(ctx, l.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Delete(l.keys, wake, call)
	})
}

// Inspect tells whether the latch exists, what is still to be counted, for how long it lasts, and how many
// calls of this process wait for it. How a latch ended that is gone, Await says.
func (l *Latch) Inspect(ctx context.Context) (redlatch.Info, error) {
	info, err := l.made().Inspect(ctx)
	info.Value = max(info.Value, 0)
	return info, err
}

var _ redlatch.Inspector = (*Latch)(nil)
