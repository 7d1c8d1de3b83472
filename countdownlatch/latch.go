// Package countdownlatch is a gate that processes share by name and that opens when a count reaches zero, compatible
// with Redisson's RCountDownLatch.
//
//	done := countdownlatch.New(rdb, "import:7")
//	_, err := done.TrySetCount(ctx, 3) // once, by whoever comes first
//	...
//	err = done.CountDown(ctx) // in each of three workers
//	...
//	err = done.Await(ctx) // by everybody who has to wait for them
//
// The latch is one number in Redis. When it reaches zero it is deleted, and a latch that does not exist is open: it was
// never set, has opened, was deleted, or its TTL has run out. It can then be set again, but those who wait look at
// nothing but the count: if it is set again before they have looked, they wait for that count too. Set the count before
// the work starts, because CountDown does nothing to a latch that does not exist.
//
// Every operation takes effect once, whatever happens to its messages. If the outcome of one cannot be found out in
// time, its error matches ErrUncertain; it is settled in the background and must not be repeated.
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

// A Latch is a count-down latch shared by every process that uses the same name on the same Redis. It is safe for
// concurrent use and needs no closing.
type Latch struct {
	counter *counter.Counter
}

// New makes a latch. It does no I/O: the count is set with TrySetCount, by any process. It panics if the client is nil
// or of a kind that cannot be used; a bad name or option is reported by the calls. Options: WithWait, WithTTL, and
// those that every primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Latch {
	return &Latch{counter.New(client, name, "latch", keys.LatchChannel, settings.Wait|settings.TTL, opts)}
}

// Name returns the name that the latch was made with.
func (l *Latch) Name() string { return l.counter.Name }

// TrySetCount sets the count of a latch that does not exist, and reports whether it did. With WithTTL the latch opens
// after that time even if nobody counts down.
func (l *Latch) TrySetCount(ctx context.Context, n int64, opts ...redlatch.Option) (bool, error) {
	set, err := l.counter.Resolve("TrySetCount", settings.TTL, opts)
	if err != nil {
		return false, err
	}
	if n < 1 {
		return false, errs.Wrong("TrySetCount(%d): the count is at least 1; a latch without a count is open", n)
	}
	return counter.ChangeThen(ctx, l.counter, set, func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.TrySetCount(l.counter.Key, n, set.TTL, wake, call)
	}, nil)
}

// CountDown takes one from the count; the latch opens at zero. It ignores the cancellation of ctx and has a time
// limit of its own ([redlatch.WithReleaseTimeout]); what is in doubt by then is carried through in the background, and
// the error matches ErrUncertain. On an open latch nothing happens.
func (l *Latch) CountDown(ctx context.Context) error {
	op := l.counter.Begin(ctx)
	_, err := counter.GiveBack(ctx, op, script.CountDown(l.counter.Key, op.Wake, op.Call))
	return err
}

// Count returns how many count-downs are left until the latch opens, 0 when it is open.
func (l *Latch) Count(ctx context.Context) (int64, error) {
	return counter.Ask(ctx, l.counter, script.Count)
}

// Await waits until the latch is open. When ctx ends first, or the time of WithWait is over, the error matches
// ErrNotAcquired and the reason.
func (l *Latch) Await(ctx context.Context, opts ...redlatch.Option) error {
	set, err := l.counter.Resolve("Await", settings.Wait, opts)
	if err != nil {
		return err
	}
	return l.counter.Await(ctx, set, func(ctx context.Context) (bool, error) {
		count, err := counter.Read(ctx, l.counter, script.Count, set)
		return count == 0, err
	})
}

// Delete removes the latch, which releases everybody who waits, and reports whether there was one.
func (l *Latch) Delete(ctx context.Context) (bool, error) {
	return counter.Change(ctx, l.counter, func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Delete(l.counter.Key, wake, call)
	})
}
