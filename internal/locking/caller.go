package locking

import (
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Caller is a call that wants a lock: what a tenure has to fit in order to be moved to it.
type Caller struct {
	*baselock.Base
	Set *settings.Settings
}

// offer is what a waiter tells the holders of its process, one of which may hand the lock on to it. A waiter
// that wants replicas to acknowledge its acquisition has no offer, because it has to acquire itself.
func (c *Caller) offer(held bool) *cohort.Request {
	if !c.Kind.HandsOn || c.Set.Replicas > 0 {
		return nil
	}
	return &cohort.Request{Who: c, Expected: held && !c.Announces(c.Set), Poll: Poll(c.Base, c.Set)}
}

// Poll is how long a waiter that expects a hand-off sleeps before it asks Redis. A spin lock's waiter hears
// no messages, so it asks at least as often as a spin lock's longest default pause.
func Poll(b *baselock.Base, set *settings.Settings) time.Duration {
	if b.Kind.Pace != nil {
		return cohort.Bound(-1, settings.DefaultBackOffMax)
	}
	return cohort.Bound(-1, set.Poll)
}
