package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/waiting"
)

// Try asks once for n, with the settings of the call; nil: those of New. Those of this process who wait already are not
// overtaken.
func (c *Counter) Try(ctx context.Context, set *settings.Settings, n int64, s Seeker) error {
	if set == nil {
		set = c.defaults
	}
	start := time.Now()
	taken, waited, err := false, c.Session.Waiting(c.line), ctx.Err()
	var got lane.Granted
	if !waited {
		got, taken, err = c.once(ctx, s, set.OutageFor(true))
	}
	switch {
	case err != nil:
		err = c.explain(ctx, err)
	case waited:
		err = fmt.Errorf("%w: %s %q: others of this process are waiting for it", errs.NotAcquired, c.noun, c.Name)
	case !taken:
		err = fmt.Errorf("%w: %s %q %s", errs.NotAcquired, c.noun, c.Name, short(got, n))
	}
	return c.tell(set, start, s, err)
}

// Acquire waits until the seeker has got the n that it wants.
func (c *Counter) Acquire(ctx context.Context, set *settings.Settings, n int64, s Seeker) error {
	start := time.Now()
	ctx, cancel := bounded(ctx, set.Wait)
	if cancel != nil {
		defer cancel()
	}
	got, err := c.acquire(ctx, set, s)
	for errors.Is(err, errLate) {
		got, err = c.acquire(ctx, set, s)
	}
	if err != nil {
		err = c.explain(ctx, err)
		if got.Short != lane.Unknown && errors.Is(err, errs.NotAcquired) {
			err = fmt.Errorf("%w: it %s", err, short(got, n))
		}
	}
	return c.tell(set, start, s, err)
}

// short is a clause that says why a seeker that wants n was not served.
func short(got lane.Granted, n int64) string {
	switch got.Short {
	case lane.Missing:
		return "has no permits: it was never set up, has expired or was deleted; call TrySetPermits"
	case lane.TooFewEver:
		return fmt.Sprintf("has %d permits in all, which are fewer than the %d that are wanted; ask for fewer, or call AddPermits", got.Have, n)
	case lane.TooFewNow:
		return fmt.Sprintf("has %d permits left, and %d are wanted", got.Have, n)
	}
	return fmt.Sprintf("has fewer than %d permits left", n)
}

// tell tells the observer how an acquisition has ended. If it panics the program never learns that it has permits.
func (c *Counter) tell(set *settings.Settings, start time.Time, s Seeker, err error) error {
	if err != nil {
		c.observe(set, settings.Refused, time.Since(start), err)
		return err
	}
	returned := false
	defer func() {
		if !returned {
			s.Abandon()
		}
	}()
	c.observe(set, settings.Acquired, time.Since(start), nil)
	returned = true
	return nil
}

// acquire answers with an error what was granted last.
func (c *Counter) acquire(ctx context.Context, set *settings.Settings, s Seeker) (got lane.Granted, err error) {
	if !c.Session.Waiting(c.line) {
		var taken bool
		if got, taken, err = c.once(ctx, s, set.OutageFor(false)); taken || err != nil {
			return got, err
		}
	}
	return c.seek(ctx, set, s, got)
}

// once asks for one who does not wait.
func (c *Counter) once(ctx context.Context, s Seeker, outage time.Duration) (lane.Granted, bool, error) {
	try := s.Begin(nil)
	got, receipt, err := c.attempt(ctx, try, outage)
	if err != nil || got.Served == 0 {
		return got, false, err
	}
	err = tell(try, 0, receipt)
	return got, err == nil, err
}

// A Sight is what one look at a counter has found out.
type Sight struct {
	Open  bool
	Err   error  // why it is open although nobody got what he waited for
	Round string // else: which of several waits for the same key this is
}

// An opening is the error of a Sight: neither the server nor the context is at fault.
type opening struct{ error }

func (o *opening) Unwrap() error { return o.error }

// Await waits until look finds it open; everybody who waits in the same round is released by one answer.
func (c *Counter) Await(ctx context.Context, set *settings.Settings, look func(ctx context.Context) (Sight, error)) error {
	ctx, cancel := bounded(ctx, set.Wait)
	if cancel != nil {
		defer cancel()
	}
	if err := c.fits(ctx, set.OutageFor(false)); err != nil {
		return c.explain(ctx, err)
	}
	sight, err := look(ctx)
	switch {
	case err != nil:
		return c.explain(ctx, err)
	case sight.Open:
		return sight.Err
	}
	line, part := c.join(ctx, session.LineFor(c.Key, c.noun+" "+sight.Round), set.Poll)
	defer part()
	err = line.Wait(ctx, set.Poll, func(ctx context.Context) (waiting.Verdict, error) {
		sight, err := look(ctx)
		if err == nil && sight.Err != nil {
			return waiting.Verdict{Down: true}, &opening{sight.Err}
		}
		return waiting.Verdict{Done: sight.Open, All: true, Down: delivery.Outage(ctx, err), Sleep: waiting.Bound(-1, set.Poll)}, err
	})
	if why := new(opening); errors.As(err, &why) {
		return why.error
	}
	return c.explain(ctx, err)
}

// bounded is ctx, for no longer than wait if that is above 0; there is something to cancel then.
func bounded(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, nil
	}
	return context.WithTimeout(ctx, wait)
}

// join takes the way into the line.
func (c *Counter) join(ctx context.Context, key session.LineKey, poll time.Duration) (line *waiting.Line, part func()) {
	// The hub has to know which family of channels is in use. If it does not, the line polls for as long as somebody is in
	// it; so it is worth asking for as long as a poll takes.
	_, _ = c.Session.PublishFor(ctx, poll)
	line, _, part = c.Session.Join(key, c.channel)
	return line, part
}

// explain makes a wait that ctx has ended match ErrNotAcquired as well as its reason. It asks ctx too, for the time-out of
// a dial also calls itself context.DeadlineExceeded.
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
	default:
		return fmt.Errorf("%w: %s %q: %w", errs.NotAcquired, c.noun, c.Name, errs.Ended(ctx, err))
	}
}
