package counter

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// A tooFew is why an attempt did not serve a call that wants so many. asked is what the attempt was for: the
// call itself, or another one of its process before it.
type tooFew struct {
	got          lane.Granted
	asked, wants int64
}

func (f tooFew) Error() string {
	switch {
	case f.got.Short == lane.Missing:
		return "has no permits: it was never set up, has expired or was deleted; give New WithPermits, or call TrySetPermits"
	case f.wants < f.asked: // there may be enough for the call
		return "has too few permits left"
	case f.got.Short == lane.TooFewEver:
		return fmt.Sprintf("has %s in all, and %s wanted; ask for fewer, or call AddPermits",
			permits(f.got.Have), many(f.wants))
	case f.got.Short == lane.TooFewNow:
		return fmt.Sprintf("has %s left, and %s wanted", permits(f.got.Have), many(f.wants))
	case f.wants == 1:
		return "has no permits left"
	}
	return fmt.Sprintf("has too few permits left, and %s wanted", many(f.wants))
}

// Is makes it match what every refusal does.
func (f tooFew) Is(target error) bool { return target == errs.NotAcquired }

// have is how many permits there were, 0 where that is not known.
func (f tooFew) have() int64 {
	if f.wants < f.asked || f.got.Short != lane.TooFewEver && f.got.Short != lane.TooFewNow {
		return 0
	}
	return f.got.Have
}

// forCall is the error for another call, which wants n, if it is one of too few permits.
func forCall(err error, n int64) error {
	if few, is := err.(tooFew); is {
		few.wants = n
		return few
	}
	return err
}

// missing tells whether an error says that there is no semaphore.
func missing(err error) bool {
	few, is := err.(tooFew)
	return is && few.got.Short == lane.Missing
}

// refused is the error of a call that was refused, for that reason.
func (c *Counter) refused(why error) *redlatch.NotAcquiredError {
	err := &redlatch.NotAcquiredError{Name: c.Name, Kind: c.kind, Detail: why.Error()}
	if few, is := why.(tooFew); is {
		err.Want, err.Have = few.wants, few.have()
	}
	return err
}

// explain is the error of an acquisition as the program gets it: a refusal, a failure of the server or the
// network, or the end of ctx with whichever of the two was the last that is known. It asks ctx too, for the
// time-out of a dial also calls itself context.DeadlineExceeded.
func (c *Counter) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errs.Invalid) && !delivery.Failed(err):
		return err
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		return c.broken(err)
	case errors.Is(err, errs.Unavailable):
		return c.broken(errs.Ended(ctx, err))
	}
	waited, found := errs.FoundOut(err)
	if found == nil {
		found = c.Session.Undialed()
	}
	if !errors.Is(found, errs.NotAcquired) {
		return errs.WaitOver(ctx, fmt.Sprintf("%s %q", c.kind.Noun(), c.Name), err, found)
	}
	over := c.refused(found)
	over.Waited, over.Cause = waited, errs.Ended(ctx, err)
	return over
}

// unanswered keeps, with the end of a wait by ctx, what was found out last. The attempt that ctx has cut off
// may know more.
func unanswered(ctx context.Context, err, found error) error {
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) || errors.Is(err, errs.Unavailable) {
		return err
	}
	return &errs.Unanswered{Err: err, Found: found, Waited: errs.Waited(err)}
}

// note logs, once, that the semaphore was never set up, or that it has another number of permits than New was
// told. It answers the error of a call for n that was not served and never will be, because that is more than
// there are in all, where New was told a number.
func (c *Counter) note(got lane.Granted, n int64) error {
	if got.Short == lane.Missing {
		if !c.unset.Swap(true) {
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
	if total != size && !c.differs.Swap(true) {
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

// permits is a number of permits in a sentence.
func permits(n int64) string {
	switch n {
	case 0:
		return "no permits"
	case 1:
		return "1 permit"
	}
	return fmt.Sprintf("%d permits", n)
}

// many is a number of things with the verb that follows it.
func many(n int64) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}
