package countdownlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/counter"
	script "github.com/redlatch/redlatch/internal/scripts/countdownlatch"
)

// CountDown takes one from the count; the latch opens at zero. It ignores the cancellation of ctx and has a time
// limit of its own ([redlatch.WithReleaseTimeout]); what is in doubt by then is carried through in the background, and
// the error matches ErrUncertain. If the latch does not exist nothing happens. Calls that come at the same time share a command.
func (l *Latch) CountDown(ctx context.Context) error {
	return l.together.Do(l.counter, struct{}{}, func(all []struct{}) error { // the script does all or nothing
		op := l.counter.Begin(ctx)
		_, err := counter.GiveBack(ctx, op, script.CountDown(l.keys, int64(len(all)), op.Wake, op.Call))
		return err
	})
}
