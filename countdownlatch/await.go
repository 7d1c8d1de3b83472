package countdownlatch

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	script "github.com/redlatch/redlatch/internal/scripts/countdownlatch"
	"github.com/redlatch/redlatch/internal/settings"
)

// Await waits until the latch is open, and returns nil if it was counted down. If it is open for another
// reason the error matches ErrExpired, ErrDeleted or ErrNotSet. When ctx ends first, or the time of WithWait
// is over, it matches the reason. It matches redlatch.ErrNotAcquired too if the latch was closed when it was
// last looked at, redlatch.ErrUnavailable instead if the last look failed, and the reason alone if there was
// no answer yet. While the server fails it goes on for as long as [redlatch.WithOutage] says.
//
// A caller that comes late is told how the latch ended the last time, for at least a day after that. One that
// waits is told about the latch that it waits for, also if that is over and set again by the time it looks.
func (l *Latch) Await(ctx context.Context, opts ...redlatch.Option) error {
	set, err := l.made().Resolve("Await", settings.Wait, opts)
	if err != nil {
		return err
	}
	var seen script.Seen
	return l.made().Await(ctx, set, func(ctx context.Context) (counter.Sight, error) {
		state, err := counter.Send(ctx, l.made(), script.Await(l.keys, seen), set.OutageFor(false))
		if err != nil {
			return counter.Sight{}, err
		}
		if fate := state.For(seen); fate != script.Counting {
			return counter.Sight{Open: true, Err: l.why(fate)}, nil
		}
		now := state.Seen()
		if seen.Until, seen.Epoch = now.Until, now.Epoch; seen.Round == "" {
			seen.Round = now.Round
		}
		return counter.Sight{Round: seen.Round}, nil
	})
}

// why is the error of a latch that is open.
func (l *Latch) why(fate script.Fate) error {
	switch fate {
	case script.Expired:
		return fmt.Errorf("%w: latch %q", ErrExpired, l.Name())
	case script.Deleted:
		return fmt.Errorf("%w: latch %q", ErrDeleted, l.Name())
	case script.NotSet:
		return fmt.Errorf("%w: latch %q was never set, or has been over for more than a day; call TrySetCount before "+
			"anybody waits", ErrNotSet, l.Name())
	}
	return nil
}
