package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/settings"
)

// acquire is Acquire without an observer. path is how the permits came to the call.
func (c *Counter) acquire(ctx context.Context, set *settings.Settings, n int64, s Seeker,
	try bool) (path string, err error) {
	if try || set.Once {
		return settings.Fresh, c.try(ctx, set, n, s)
	}
	ctx, cancel := set.Waiting(ctx, false)
	defer cancel()
	for {
		if path, err = c.wait(ctx, set, n, s); !errors.Is(err, errLate) {
			return path, c.explain(ctx, err)
		}
	}
}

func (c *Counter) wait(ctx context.Context, set *settings.Settings, n int64, s Seeker) (path string, err error) {
	var found error
	if c.Session.Waiters(c.line) == 0 {
		if found, err = c.once(ctx, n, s, set.OutageFor(false)); found == nil {
			return settings.Fresh, err
		}
	}
	return c.seek(ctx, set, n, s, found)
}

// missing tells whether calls of this process wait for a semaphore that is not there.
func (c *Counter) missing() bool {
	line := c.Session.Cohorts.Find(c.line)
	if line == nil {
		return false
	}
	few, is := line.Found().(tooFew)
	return is && few.got.Short == lane.Missing
}

// try asks once, unless calls of this process wait already.
func (c *Counter) try(ctx context.Context, set *settings.Settings, n int64, s Seeker) error {
	var found error
	waited, err := false, ctx.Err()
	// A try that knows the size takes nothing from calls that wait for what is not there.
	if err == nil && c.Session.Waiters(c.line) > 0 && (c.Size == nil || !c.missing()) {
		waited, err = c.Session.Behind(ctx, c.line, set.OutageFor(true))
	}
	if err == nil && !waited {
		found, err = c.once(ctx, n, s, set.OutageFor(true))
	}
	switch {
	case err != nil:
		err = c.explain(ctx, err)
	case waited:
		err = c.refused(shortage{"is waited for by others of this process", n, 0})
	case found != nil:
		err = c.refused(found.(tooFew).shortage(n))
	}
	return err
}

// refused is the error of a try that was refused.
func (c *Counter) refused(s shortage) *redlatch.NotAcquiredError {
	return &redlatch.NotAcquiredError{Name: c.Name, Kind: c.kind, Want: s.want, Have: s.have, Detail: string(s.why)}
}

// A shortage is why a call that wants so many was not served, and how many there were, 0 where that is not
// known.
type shortage struct {
	why        errs.Refusal
	want, have int64
}

func (s shortage) Error() string        { return string(s.why) }
func (s shortage) Is(target error) bool { return target == errs.NotAcquired }

// A tooFew is what an attempt that was refused has found out: got, for a call that wants so many.
type tooFew struct {
	got   lane.Granted
	wants int64
}

func (f tooFew) Error() string { return f.shortage(f.wants).Error() }

// Is makes it match what every refusal does.
func (f tooFew) Is(target error) bool { return target == errs.NotAcquired }

// shortage is why a seeker that wants n was not served.
func (f tooFew) shortage(n int64) shortage {
	s := shortage{want: n}
	switch {
	case f.got.Short == lane.Missing:
		s.why = "has no permits: it was never set up, has expired or was deleted; give New WithPermits, or call TrySetPermits"
	case n < f.wants: // whether there are enough for one who stands behind the one that was refused
		s.why = "has too few permits left"
	case f.got.Short == lane.TooFewEver:
		s.have = f.got.Have
		s.why = errs.Refusal(fmt.Sprintf("has %s in all, and %s wanted; ask for fewer, or call AddPermits",
			permits(s.have), many(n)))
	case f.got.Short == lane.TooFewNow:
		s.have = f.got.Have
		s.why = errs.Refusal(fmt.Sprintf("has %s left, and %s wanted", permits(s.have), many(n)))
	default:
		s.why = fewer(n)
	}
	return s
}

// fewer is why n permits are refused where the answer does not count those that are left.
func fewer(n int64) errs.Refusal {
	if n == 1 {
		return "has no permits left"
	}
	return errs.Refusal(fmt.Sprintf("has too few permits left, and %s wanted", many(n)))
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

// once asks for a call that does not wait. Where that was not served, found says why.
func (c *Counter) once(ctx context.Context, n int64, s Seeker, outage time.Duration) (found, err error) {
	try := s.Begin(0, nil)
	got, receipt, err := c.attempt(ctx, try, outage, nil)
	if err == nil {
		err = c.note(got, n)
	}
	switch {
	case err != nil:
		return nil, err
	case !got.Served:
		return tooFew{got, n}, nil
	}
	return nil, share{try, receipt, 0}.take()
}

// A Sight is what one look at a counter has found out.
type Sight struct {
	Open  bool
	Err   error  // why it is open although no call got what it waited for
	Round string // else: which of several waits for the same key this is
}

// An opening is the error of a Sight: neither the server nor the context is at fault.
type opening struct{ error }

func (o *opening) Unwrap() error { return o.error }

// Await waits until look finds it open. One answer releases all calls that wait in the same round.
func (c *Counter) Await(ctx context.Context, set *settings.Settings,
	look func(ctx context.Context) (Sight, error)) error {
	call := observe.Begin(ctx, set, c, c.kind, c.Name, 0)
	defer call.Left()
	if call != nil {
		ctx = call.Context
	}
	err := c.open(ctx, set, look)
	if err != nil {
		call.Refused(err)
		return err
	}
	call.Opened()
	return nil
}

// open is Await without an observer.
func (c *Counter) open(ctx context.Context, set *settings.Settings,
	look func(ctx context.Context) (Sight, error)) error {
	ctx, cancel := set.Waiting(ctx, false)
	defer cancel()
	outage := set.OutageFor(set.Once)
	if err := c.fits(ctx, outage); err != nil {
		return c.explain(ctx, err)
	}
	sight, err := look(ctx)
	switch {
	case err != nil:
		return c.explain(ctx, err)
	case sight.Open:
		return sight.Err
	case set.Once:
		return c.refused(shortage{why: closed})
	}
	line, part := c.join(ctx, cohort.KeyFor(c.Key, string(c.kind)+" "+sight.Round), set.Poll)
	defer part()
	line.Note(closed)
	err = line.Wait(ctx, set.Poll, func(ctx context.Context) (cohort.Verdict, error) {
		sight, err := look(delivery.Watched(ctx, line.Note))
		if err == nil && sight.Err != nil {
			return cohort.Verdict{Down: true}, &opening{sight.Err}
		}
		return cohort.Verdict{Done: sight.Open, All: true, Down: delivery.Outage(ctx, err),
			Sleep: cohort.Bound(-1, set.Poll), Found: closed}, err
	})
	if why := new(opening); errors.As(err, &why) {
		return why.error
	}
	return c.explain(ctx, unanswered(ctx, err, line.Found()))
}

// closed is what a look has found out that did not find the latch open.
const closed = errs.Refusal("is still closed")

// unanswered keeps, with the end of a wait by ctx, what was found out last. The attempt that ctx has cut off
// may know more.
func unanswered(ctx context.Context, err, found error) error {
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) || errors.Is(err, errs.Unavailable) {
		return err
	}
	return &errs.Unanswered{Err: err, Found: found, Waited: errs.Waited(err)}
}

// join takes the way into the line.
func (c *Counter) join(ctx context.Context, key cohort.Key, poll time.Duration) (line *cohort.Cohort, part func()) {
	// The hub has to know which family of channels is in use. If it does not, the line polls for as long as
	// somebody is in it; so it is worth asking for as long as a poll takes.
	_, _ = c.Session.PublishFor(ctx, poll)
	line, _, leave := c.Session.Join(key, c.ears())
	return line, func() {
		if sitter := leave(); sitter != nil {
			go c.leaveRow(sitter)
		}
	}
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
	short, ok := found.(shortage)
	if !ok {
		short.why = errs.Refusal(found.Error())
	}
	over := c.refused(short)
	over.Waited, over.Cause = waited, errs.Ended(ctx, err)
	return over
}
