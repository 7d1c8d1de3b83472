package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/session"
)

// A NodeError is why one server of a redlock did not grant it. The error of a call has one for each such
// server, also for those whose answers were not waited for because the others had decided, which come last;
// errors.As finds the first, and errors.Is finds the servers' own errors.
type NodeError struct {
	Node    string // "3 (10.0.0.7:6379)": its place among the clients, and its address where the client shows it
	Refused bool   // it answered that the lock is taken; false: it failed, or had not answered
	Err     error  // the server's or the network's own

	// with Refused: when the holder's lease there is over, unless it is renewed; 0 where that is not known
	left time.Duration
}

// Error is the server's place and address, and its own error.
func (e *NodeError) Error() string { return "server " + e.Node + ": " + e.Err.Error() }

// Unwrap returns the server's or the network's own error.
func (e *NodeError) Unwrap() error { return e.Err }

// ask has do ask the node, for limit at most, and notes what that has found out of it. failed is what err says
// of the node. That a server did not answer in time is not the end of the caller's context, and may not look
// like it.
func (n node) ask(ctx context.Context, limit time.Duration,
	do func(ctx context.Context) error) (failed *NodeError, err error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = do(within)
	n.tells(ctx, err)
	switch {
	case err == nil:
		return nil, nil
	case within.Err() != nil && ctx.Err() == nil && errors.Is(err, within.Err()):
		return &NodeError{Node: n.label, Err: delivery.Unavailable(fmt.Errorf("no answer within %v: %v", limit,
			n.part(err)))}, err
	}
	return n.nodeError(err), err
}

// nodeError is what an attempt's error says of its node. That one refuses is not the refusal of the lock, and
// may not look like it.
func (n node) nodeError(err error) *NodeError {
	if errors.Is(err, errs.NotAcquired) {
		e := &NodeError{Node: n.label, Refused: true,
			Err: errors.New(strings.TrimPrefix(err.Error(), errs.NotAcquired.Error()+": "))}
		if refusal, ok := errors.AsType[*redlatch.NotAcquiredError](err); ok {
			e.left = refusal.Left
		}
		return e
	}
	return &NodeError{Node: n.label, Err: n.part(err)}
}

// part is what the lock of a node says, without its name: the error of the call has that.
func (n node) part(err error) error {
	return errs.Part(err, fmt.Sprintf("%s %q", n.base.Kind.Label.Noun(), n.base.Name))
}

// aside is for failures of servers beside which enough others answered to know that the lock is taken: the
// error of the call is no outage then.
func aside(failures []error) []error {
	for _, err := range failures {
		if e, ok := err.(*NodeError); ok {
			e.Err = noOutage{e.Err}
		}
	}
	return failures
}

// A noOutage is an error that does not match ErrUnavailable.
type noOutage struct{ error }

func (n noOutage) Is(target error) bool {
	return target != errs.Unavailable && errors.Is(n.error, target)
}
func (n noOutage) As(target any) bool { return errors.As(n.error, target) }

// hopeless tells whether asking again cannot help.
func (e *NodeError) hopeless() bool {
	class := outcome.Of(e.Err)
	return !e.Refused && (class == outcome.Hopeless || class == outcome.Cut) && !outcome.Passing(e.Err)
}

// cut tells whether a context has ended before the node's answer, and nothing else has failed.
func (e *NodeError) cut() bool {
	return !errors.Is(e.Err, errs.Unavailable) &&
		(errors.Is(e.Err, context.Canceled) || errors.Is(e.Err, context.DeadlineExceeded))
}

// label names a node in errors.
func label(i int, client redlatch.Client) string {
	if addresses, _ := session.Addresses(client); len(addresses) > 0 {
		return fmt.Sprintf("%d (%s)", i+1, strings.Join(addresses, ", "))
	}
	return fmt.Sprint(i + 1)
}

// sharing finds two members that are not independent: one client, or two of one server.
func sharing(clients []redlatch.Client) (i, j int, shared bool) {
	for j, b := range clients {
		for i, a := range clients[:j] {
			if a == b || session.SameServer(a, b) {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}
