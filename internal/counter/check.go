package counter

import (
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/settings"
)

// maxPermits is the largest number that one operation may carry. The scripts compare exactly up to 2^53.
const maxPermits = settings.MaxPermits

// CheckNumber checks a number of permits, and what New was given, which a call for no permits would not come
// across.
func (c *Counter) CheckNumber(call string, n int64) error {
	if c.invalid != nil {
		return c.invalid
	}
	if n < 0 || n > maxPermits {
		return errs.Wrong("%s(%d): the number of permits is from 0 to %d", call, n, maxPermits)
	}
	return nil
}

// CheckChange checks by how many permits AddPermits is to change their number.
func CheckChange(d int64) error {
	if d > maxPermits || d < -maxPermits {
		return errs.Wrong("AddPermits(%d): at most %d at once", d, maxPermits)
	}
	return nil
}

// CheckTTL checks for how long Expire is to leave a semaphore.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return errs.Wrong("Expire(%v): at least a millisecond; use Delete to remove the semaphore now", ttl)
	}
	return nil
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
