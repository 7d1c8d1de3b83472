// Package delivery brings one script to its end: it resends what was certainly not executed, resends what may
// have been because nearly every script is idempotent, sends a script with fewer keys where it may not have
// all, gives up on what is hopeless, and says what is known when it has to stop.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts"
)

// A Limit says when to stop trying. ctx may end it sooner.
type Limit struct {
	Outage   time.Duration // how long to go on after the first failure
	Total    time.Duration // how long to go on in all, from the first failure on exactly; 0: as ctx and Outage say
	Stubborn bool          // also go on after errors that look hopeless: a release is worth it
	Patient  bool          // also go on while the server takes no writes: an acquisition needs nothing less
	Once     bool          // do not go on after a send of unknown outcome: the script is not idempotent
	// how long after the first send another one does no harm if one may have been executed; 0: always. The time
	// of a suspension counts
	Memory  time.Duration
	Apart   bool  // do not wait for a slot that moves: the keys of the script can be asked for one by one
	Refused error // a script that did the same was refused, perhaps in its last step; nil: there was none
}

// A Failure is why a command was not brought to a known end.
type Failure struct {
	Err   error // what the caller is told
	Doubt bool  // a send may have been executed, or may be executed later

	// Sent is a moment before the first send that is in doubt.
	Sent time.Time

	// Over tells that all there is to doubt is what a script did that was refused on its way. It has ended, so
	// no copy comes late.
	Over bool

	flight  *dispatch.InFlight // the send that was under way when the caller left
	earlier bool               // a send before that one is in doubt
	left    bool               // the caller has left before any send had failed, so nothing is known about the server
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap is the error itself.
func (f *Failure) Unwrap() error { return f.Err }

// Is makes every failure of the server or the network match ErrUnavailable, and what the program has to
// correct ErrInvalid instead. The failure of a caller that has left before any send had failed is neither.
func (f *Failure) Is(target error) bool {
	switch target {
	case errs.Unavailable:
		return !f.left && !outcome.Wrong(f.Err)
	case errs.Invalid:
		return outcome.Wrong(f.Err)
	}
	return false
}

// Unavailable makes an error of the server or the network that did not come of Deliver match what a Failure
// does.
func Unavailable(err error) error { return &Failure{Err: err} }

// A Receipt is what is known about the sends of a command that was executed.
type Receipt struct {
	// Sent is a moment before the first send that may have been executed. A lease is trusted from here.
	Sent time.Time
	// Doubt tells that an earlier send may still be executed: the server keeps what a connection had brought
	// even if its client has given up on it.
	Doubt bool
	// Refused is the error with which the server refused an earlier send, the last of those, of a command that
	// goes on all the same; nil if it did not. That send may have been refused in its last step, which is the
	// message of a release, so nothing that came after it makes this void.
	Refused error
}

// Deliver sends cmd until it is executed or limit is reached. Every error is a *Failure.
func Deliver[R any](ctx context.Context, d *dispatch.Dispatcher, cmd scripts.Command[R],
	limit Limit) (R, Receipt, error) {
	return deliver(ctx, d, &cmd, limit, clock.Now(), nil)
}

// deliver is Deliver from the moment of now on. It is for a command that synced sends, with its source; nil:
// the dispatcher does.
func deliver[R any](ctx context.Context, d *dispatch.Dispatcher, cmd *scripts.Command[R], limit Limit, now time.Time,
	synced func(ctx context.Context, send redis.Cmder) error) (reply R, receipt Receipt, err error) {
	var (
		withSource = synced != nil
		route      dispatch.Route
		pauses     Pauses
		halves     bool // a send was refused on its way through the script
		adapts     int
	)
	receipt.Sent, receipt.Refused = now, limit.Refused
	if d.Narrow(cmd.Script()) {
		*cmd, _ = cmd.Narrow(false)
	}
	for again := false; ; again = true {
		send := cmd.Cmder(context.Background(), withSource)
		if again && !receipt.Doubt {
			receipt.Sent = clock.Now()
		}
		if synced != nil {
			err = synced(ctx, send)
		} else {
			err = d.Do(ctx, cmd.Key(), send, route)
		}
		route = dispatch.ToMaster

		if err != nil {
			if failure := stopped(ctx, err, &pauses, receipt); failure != nil {
				failure.Doubt = failure.Doubt || halves
				return reply, receipt, failure
			}
		}
		if err != nil && adapted(d, cmd, err) {
			if adapts++; adapts <= mostAtOnce {
				continue
			}
		}
		switch outcome.Of(err) {
		case outcome.Done:
			reply, err = cmd.Read(send)
			if err != nil { // executed, but the result is not known
				return reply, receipt, &Failure{Err: err, Doubt: true, Sent: receipt.Sent}
			}
			return reply, receipt, nil
		case outcome.NoScript:
			if !withSource {
				withSource = true
				continue
			}
			// A proxy, say, that does not know scripts at all. It is not asked in a loop.
		case outcome.Hopeless, outcome.Cut:
			cut := outcome.Of(err) == outcome.Cut && !cmd.Script().Untouched(err)
			if (cut || !limit.Patient || !outcome.Passing(err)) && (!limit.Stubborn || outcome.Final(err)) {
				return reply, receipt, &Failure{Err: err, Doubt: receipt.Doubt || cut, Sent: receipt.Sent,
					Over: cut && !receipt.Doubt}
			}
			receipt.Refused, halves = err, halves || cut
		case outcome.Moved:
			if d.Single() && outcome.Redirects(err) {
				return reply, receipt, &Failure{Err: &outcome.Redirected{Err: err}, Doubt: receipt.Doubt || halves,
					Sent: receipt.Sent}
			}
			d.Reload(ctx)
			route = dispatch.Follow
		case outcome.NotYet:
			if limit.Apart && outcome.Apart(err) {
				return reply, receipt, &Failure{Err: err, Doubt: receipt.Doubt, Sent: receipt.Sent}
			}
			d.Reload(ctx)
		case outcome.Full: // what is there works, and to build it anew would take connections, and have every waiter ask
		case outcome.Unknown:
			receipt.Doubt = true
			d.Reload(ctx)
			if limit.Once {
				return reply, receipt, &Failure{Err: err, Doubt: true, Sent: receipt.Sent}
			}
		}
		tellWatcher(ctx, err)
		if limit.Total > 0 { // something is wrong, so the next send might hang
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, now.Add(limit.Total))
			defer cancel()
			limit.Total = 0
		}
		if stop := pauses.Sleep(ctx, err, limit.Outage); stop != nil {
			return reply, receipt, &Failure{Err: stop, Doubt: receipt.Doubt || halves, Sent: receipt.Sent,
				Over: halves && !receipt.Doubt}
		}
		if receipt.Doubt && limit.Memory > 0 && clock.Now().Sub(clock.Aged(now)) > limit.Memory {
			return reply, receipt, &Failure{Err: err, Doubt: true, Sent: receipt.Sent}
		}
	}
}

// stopped is the failure of a caller whose context has ended, nil if err is something else.
func stopped(ctx context.Context, err error, p *Pauses, r Receipt) *Failure {
	var (
		flight *dispatch.InFlight
		unsent *outcome.Unsent
	)
	switch {
	case errors.As(err, &flight):
		return &Failure{Err: p.because(err), Doubt: true, Sent: r.Sent, flight: flight, earlier: r.Doubt, left: p.last == nil}
	case ctx.Err() != nil && errors.As(err, &unsent) && errors.Is(err, ctx.Err()):
		return &Failure{Err: p.because(err), Doubt: r.Doubt, Sent: r.Sent, left: p.last == nil}
	}
	return nil
}

// flightWithin is how long the reply to a command is waited for whose caller has left. A client may be more
// patient, for ever if it has no read timeout, and what the command has taken cannot be given back meanwhile.
const flightWithin = 10 * time.Second

// Result waits for a send that was under way when its caller left. It reports the reply, and whether that is
// all there is to know: not if an earlier send is in doubt too, or if this one had no reply either, or none
// in time. Call it once, off the caller's path.
func Result[R any](f *Failure, cmd scripts.Command[R]) (reply R, known bool) {
	if f.flight == nil {
		return reply, false
	}
	send, ended := f.flight.Wait(flightWithin)
	if !ended || f.earlier || outcome.Of(send.Err()) == outcome.Unknown || outcome.Of(send.Err()) == outcome.Cut {
		return reply, false
	}
	if send.Err() == nil {
		var err error
		if reply, err = cmd.Read(send); err != nil {
			return reply, false
		}
	}
	return reply, true
}

// Outage tells whether err is the server's or the network's failure to execute a command for a caller that is
// still there. The next caller would only find out the same, after as long a time.
func Outage(ctx context.Context, err error) bool { return ctx.Err() == nil && Failed(err) }

// Failed tells whether err is a Failure.
func Failed(err error) bool {
	_, is := errors.AsType[*Failure](err)
	return is
}

// AsFailure finds the Failure in an error of Deliver.
func AsFailure(err error) *Failure {
	if f, is := errors.AsType[*Failure](err); is {
		return f
	}
	return &Failure{Err: err}
}

// mostAtOnce is how often a command is sent again with other keys without a pause. A script finds keys in
// data that others change.
const mostAtOnce = 4

// adapted gives cmd the keys that it may have, or has asked for, after an error that speaks of keys. It tells
// whether there was one.
func adapted[R any](d *dispatch.Dispatcher, cmd *scripts.Command[R], err error) bool {
	if outcome.OfKeys(err) {
		if narrow, ok := cmd.Narrow(outcome.Apart(err)); ok {
			d.Narrowed(cmd.Script(), err, outcome.NoRight(err))
			*cmd = narrow
			return true
		}
	}
	wide, ok := cmd.Widen(err)
	if ok {
		*cmd = wide
	}
	return ok
}

const (
	firstPause = 20 * time.Millisecond
	maxPause   = 500 * time.Millisecond
)

// Pauses are the waits between sends. The zero value has seen no failure, and allocates nothing.
type Pauses struct {
	policy *backoff.ExponentialBackOff
	since  time.Time // the first failure
	last   error
}

// Sleep waits before the next send and returns nil, or returns the error with which to stop.
func (p *Pauses) Sleep(ctx context.Context, err error, outage time.Duration) error {
	p.last = err
	if p.policy == nil {
		p.since = time.Now()
		p.policy = backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(maxPause), backoff.WithMaxElapsedTime(0))
	}
	pause := p.policy.NextBackOff()
	if time.Since(p.since)+pause > outage {
		return err
	}
	if ended := clock.Sleep(ctx, pause); ended != nil {
		return p.because(ended)
	}
	return nil
}

// because adds to the end of ctx what the server's last error was, so that a caller can tell busy from
// broken.
func (p *Pauses) because(ended error) error {
	if p.last == nil {
		return ended
	}
	return fmt.Errorf("%w (the last attempt failed: %w)", ended, p.last)
}

// Watched returns a context whose commands tell watch, while they are still tried, with what they have failed
// so far. The calls that wait behind the caller learn of an outage from it.
func Watched(ctx context.Context, watch func(error)) context.Context {
	return context.WithValue(ctx, watcher{}, watch)
}

type watcher struct{}

func tellWatcher(ctx context.Context, err error) {
	if watch, ok := ctx.Value(watcher{}).(func(error)); ok {
		watch(Unavailable(err))
	}
}
