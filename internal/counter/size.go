package counter

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// A semaphore that knows its size is set up by the acquisition that finds nothing in Redis. What is there
// wins, whatever its number.

// notes says what was logged already, for each of it is logged once.
type notes struct{ unset, differs atomic.Bool }

// sizeOf is what a semaphore of these settings is set up with, nil if they do not say it.
func sizeOf(set *settings.Settings) *lane.Size {
	if set.Permits == 0 {
		return nil
	}
	return &lane.Size{Permits: set.Permits, TTL: set.TTL}
}

// CheckSize refuses a call for more permits than there will ever be.
func (c *Counter) CheckSize(call string, n int64) error {
	if most := c.defaults.Permits; most > 0 && n > most {
		return errs.Wrong("%s(%d): %s %q has %s, by its option WithPermits; ask for at most so many, or give "+
			"New a larger number",
			call, n, c.kind.Noun(), c.Name, permits(most))
	}
	return nil
}

// note logs, once, that the semaphore was never set up, or that it has another number of permits than New was
// told. It answers the error of a call for n that was not served and never will be, because that is more than
// there are in all, where New was told a number.
func (c *Counter) note(got lane.Granted, n int64) error {
	if got.Short == lane.Missing {
		if !c.notes.unset.Swap(true) {
			c.log().Warn("redlatch: a semaphore has no permits, for it was never set up, has expired or was deleted; " +
				"give New the option " +
				"WithPermits, or call TrySetPermits")
		}
		return nil
	}
	size, total := c.defaults.Permits, got.Total
	if got.Short == lane.TooFewEver {
		total = got.Have
	}
	if size == 0 || total == 0 && got.Short != lane.TooFewEver {
		return nil
	}
	if total != size && !c.notes.differs.Swap(true) {
		c.log().Warn(fmt.Sprintf("redlatch: a semaphore has %s in Redis, and the option WithPermits says %d; what "+
			"Redis has counts, "+
			"until it is changed there", permits(total), size))
	}
	if got.Served || got.Short != lane.TooFewEver || n <= got.Have {
		return nil
	}
	return errs.Wrong("%s %q has %s in all, and %s wanted; ask for fewer, or set their number to the %d of "+
		"WithPermits by SetPermits",
		c.kind.Noun(), c.Name, permits(got.Have), many(n), size)
}

func (c *Counter) log() *slog.Logger {
	return session.Logger(c.defaults.Logger).With("lock.name", c.Name, "lock.primitive", c.kind)
}

// ofNew is the option of New that its calls refuse as such.
func (c *Counter) ofNew() settings.Option { return c.takes & settings.Permits }
