package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
)

// A told is the answer of one node to a query.
type told[R any] struct {
	reply R
	err   error
}

// askAll asks all nodes at the same time, each for as long as an attempt may take. A panic of query on
// another goroutine is raised on the caller's.
func askAll[R any](ctx context.Context, l *Lock,
	query func(ctx context.Context, base *baselock.Base) (R, error)) []told[R] {
	c := &call{lock: l, Call: quorum.Call{Set: &l.defaults}}
	limit := c.nodeTimeout()
	answers := make([]told[R], len(l.nodes))
	raised := raise.All(len(l.nodes), func(i int) {
		within, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		n := l.nodes[i]
		reply, err := query(within, n.base)
		answers[i].reply = reply
		if err != nil {
			answers[i].err = n.nodeError(err, within.Err() != nil && errors.Is(err, within.Err()) && ctx.Err() == nil,
				limit)
		}
	}, c.log())
	raised.Raise(ctx)
	return answers
}

// enough fails when fewer than a majority answered.
func enough[R any](l *Lock, answers []told[R]) error {
	var failures []error
	for _, a := range answers {
		if a.err != nil {
			failures = append(failures, a.err)
		}
	}
	if answered := len(answers) - len(failures); answered < l.need {
		return fmt.Errorf("redlatch: redlock %q: %d of %d servers answered and %d are needed: %w",
			l.name, answered, len(answers), l.need, errs.Part(errors.Join(failures...), ""))
	}
	return nil
}

// status asks all nodes, which answer in any order.
func (l *Lock) status(ctx context.Context) ([]told[scripts.Status], error) {
	l.made()
	if l.invalid != nil {
		return nil, l.invalid
	}
	answers := askAll(ctx, l, func(ctx context.Context, base *baselock.Base) (scripts.Status,
		error) {
		return base.Status(ctx)
	})
	return answers, enough(l, answers)
}

// IsLocked reports whether too few of the servers answer that they are free, so that no call can get a
// majority now. A server that does not answer is not free, so it may be true when fewer than a majority are
// locked.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	answers, err := l.status(ctx)
	if err != nil {
		return false, err
	}
	free := 0
	for _, a := range answers {
		if a.err == nil && !a.reply.Exists {
			free++
		}
	}
	return free < l.need, nil
}

// HoldCount returns how many times the hold that ctx carries has taken the lock on a majority, 0 when ctx
// carries none.
func (l *Lock) HoldCount(ctx context.Context) (int64, error) {
	answers, err := l.status(ctx)
	if err != nil {
		return 0, err
	}
	return majorityOf(l, answers, func(s scripts.Status) int64 { return s.Holds }), nil
}

// RemainingTTL returns how long a majority stays locked if it is not renewed, 0 when no majority is locked.
func (l *Lock) RemainingTTL(ctx context.Context) (time.Duration, error) {
	answers, err := l.status(ctx)
	if err != nil {
		return 0, err
	}
	return majorityOf(l, answers, func(s scripts.Status) time.Duration { return s.TTL }), nil
}

func majorityOf[N int64 | time.Duration](l *Lock, answers []told[scripts.Status], number func(scripts.Status) N) N {
	var all []N
	for _, a := range answers {
		all = append(all, number(a.reply))
	}
	return majority(l, all)
}

// majority is the largest number that a majority of the servers reaches. One that did not answer says 0.
func majority[N int64 | time.Duration](l *Lock, all []N) N {
	slices.Sort(all)
	return all[len(all)-l.need]
}

// ForceUnlock frees the lock on all servers that answer, in whichever process it is held, and reports whether
// it was locked on any. Its holder learns of it within a third of the watchdog timeout plus a second.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	l.made()
	if l.invalid != nil {
		return false, l.invalid
	}
	answers := askAll(ctx, l, func(ctx context.Context, base *baselock.Base) (bool,
		error) {
		return base.ForceUnlock(ctx)
	})
	freed := slices.ContainsFunc(answers, func(a told[bool]) bool { return a.reply })
	return freed, enough(l, answers)
}

// Inspect returns what each server knows about the lock, as Members with the servers' labels as names
// ([NodeError.Node]). One that does not answer has its *NodeError there; the error of Inspect is only for an
// argument of New that makes no sense. The lock exists when a majority has it, and then for the TTL.
func (l *Lock) Inspect(ctx context.Context) (redlatch.Info, error) {
	l.made()
	if l.invalid != nil {
		return redlatch.Info{}, l.invalid
	}
	info := redlatch.Info{Name: l.name, Kind: redlatch.KindRedlock, Need: int64(l.need),
		Waiters: int64(l.nodes[0].base.Session.Waiters(l.line))}
	answers := askAll(ctx, l, func(ctx context.Context, base *baselock.Base) (redlatch.Info,
		error) {
		return base.Inspect(ctx)
	})
	var ttls []time.Duration
	for i, a := range answers {
		a.reply.Name = l.nodes[i].label
		info.Members = append(info.Members, redlatch.Member{Info: a.reply, Err: a.err})
		ttls = append(ttls, a.reply.TTL)
	}
	info.TTL = majority(l, ttls)
	info.Exists = info.TTL != 0
	return info, nil
}
