package counter

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// Keep asks whether n permits may move within the process, and moves them. keep gives them back if not, and
// yield does that when the outcome of keep is unknown. rest are permits that are still the caller's: Redis
// lets the process have them, but no waiter is there any more, or there is an error.
func (c *Counter) Keep(ctx context.Context, n int64, keep, yield Build[int64]) (rest int64, err error) {
	sent := time.Now()
	reply, err := giveBack(ctx, c, keep, yield)
	switch {
	case err != nil:
		return n, err
	case !c.Answered(reply, sent):
		return 0, nil
	}
	return c.MoveKept(n, nil), nil
}

// Answered takes note of what Redis answers that was asked at sent whether permits may move, and tells
// whether they may.
func (c *Counter) Answered(reply int64, sent time.Time) (kept bool) {
	kept = reply == row.Kept || reply == row.Renamed
	l := c.lot()
	if l == nil {
		return kept
	}
	var s cohort.Streak
	if reply == row.Kept {
		s = c.streak(sent, true)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch reply {
	case row.Renamed:
	case row.Kept: // and all others that this process has may move as well
		l.streak = s
	case row.Outsiders:
		l.streak, l.closedUntil = cohort.Streak{}, time.Now().Add(forOutsiders)
	default:
		l.streak = cohort.Streak{}
	}
	return kept
}
