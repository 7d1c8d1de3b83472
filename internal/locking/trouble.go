package locking

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Trouble is an outage during the wait of an acquisition that cannot be sent again. It can be made anew,
// under another identity, while the lock that the last send may have taken is given back. A TryLock is not
// made anew and returns the error: the lock that the first send may have taken would look as if another
// holder had it.
type Trouble struct {
	since time.Time // when a send got no answer; zero: there is none
}

// Passes tells whether to acquire anew after err. What replicas have to acknowledge is not sent again once a
// send got no answer, so its outage is counted here.
func (t *Trouble) Passes(ctx context.Context, set *settings.Settings, err error) bool {
	switch {
	case err == nil:
		*t = Trouble{}
		return false
	case errors.Is(err, baselock.ErrLate):
		return true
	case set.Replicas == 0 || ctx.Err() != nil || !delivery.AsFailure(err).Doubt:
		return false
	case t.since.IsZero():
		t.since = time.Now()
	}
	return time.Since(t.since) < set.OutageFor(false)
}

// TroublePause is the pause before a waiter outside the local queue acquires anew.
const TroublePause = 50 * time.Millisecond
