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
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
)

// A told is the answer of one node to a query.
type told[R any] struct {
	reply R
	err   error
}

// askAll asks all nodes at the same time, each for as long as an attempt may take. The error says that fewer
// than a majority have answered, or, without answers, that the lock makes no sense. A panic of query on another
// goroutine is raised on the caller's.
func askAll[R any](ctx context.Context, l *Lock,
	query func(ctx context.Context, base *baselock.Base) (R, error)) ([]told[R], error) {
	l.made()
	c, err := l.resolve(nil, false)
	if err != nil {
		return nil, err
	}
	answers := make([]told[R], len(l.nodes))
	raised := raise.All(len(l.nodes), func(i int) {
		failed, _ := l.nodes[i].ask(ctx, c.nodeTimeout(), func(ctx context.Context) (err error) {
			answers[i].reply, err = query(ctx, l.nodes[i].base)
			return err
		})
		if failed != nil {
			answers[i].err = failed
		}
	}, c.Log())
	raised.Raise(ctx)
	var failures []error
	for _, a := range answers {
		if a.err != nil {
			failures = append(failures, a.err)
		}
	}
	if answered := len(answers) - len(failures); answered < c.Need {
		err = fmt.Errorf("redlatch: redlock %q: %d of %d servers answered and %d are needed: %w",
			c.Name, answered, len(answers), c.Need, errs.Part(errors.Join(failures...), ""))
	}
	return answers, err
}

// majority asks all nodes, and answers the largest number that a majority of them reaches. One that did not
// answer says 0.
func majority[N int64 | time.Duration](ctx context.Context, l *Lock, number func(scripts.Status) N) (N, error) {
	answers, err := askAll(ctx, l, locking.Status)
	if err != nil {
		return 0, err
	}
	all := make([]N, len(answers))
	for i, a := range answers {
		if a.err == nil {
			all[i] = number(a.reply)
		}
	}
	return reached(all, l.of.Need), nil
}

// reached is the largest number that so many of all reach.
func reached[N int64 | time.Duration](all []N, need int) N {
	slices.Sort(all)
	return all[len(all)-need]
}

// IsLocked reports whether too few of the servers answer that they are free, so that no call can get a
// majority now. A server that does not answer is not free, so it may be true when fewer than a majority are
// locked.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	free, err := majority(ctx, l, func(s scripts.Status) int64 {
		if s.Exists {
			return 0
		}
		return 1
	})
	return err == nil && free == 0, err
}

// HoldCount returns how many times the hold that ctx carries has taken the lock on a majority, 0 when ctx
// carries none.
func (l *Lock) HoldCount(ctx context.Context) (int64, error) {
	return majority(ctx, l, func(s scripts.Status) int64 { return s.Holds })
}

// RemainingTTL returns how long a majority stays locked if it is not renewed, 0 when no majority is locked.
func (l *Lock) RemainingTTL(ctx context.Context) (time.Duration, error) {
	return majority(ctx, l, func(s scripts.Status) time.Duration { return s.TTL })
}

// ForceUnlock frees the lock on all servers that answer, in whichever process it is held, and reports whether
// it was locked on any. Its holder learns of it within a third of the watchdog timeout plus a second.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	answers, err := askAll(ctx, l, locking.ForceUnlock)
	return slices.ContainsFunc(answers, func(a told[bool]) bool { return a.reply }), err
}

// Inspect returns what each server knows about the lock, as Members with the servers' labels as names
// ([NodeError.Node]). One that does not answer has its *NodeError there; the error of Inspect is only for an
// argument of New that makes no sense. The lock exists when a majority has it, and then for the TTL.
func (l *Lock) Inspect(ctx context.Context) (redlatch.Info, error) {
	answers, err := askAll(ctx, l, locking.Inspect)
	if answers == nil {
		return redlatch.Info{}, err
	}
	info := redlatch.Info{Name: l.of.Name, Kind: redlatch.KindRedlock, Need: int64(l.of.Need),
		Waiters: int64(l.nodes[0].base.Session.Waiters(l.of.Line))}
	var ttls []time.Duration
	for i, a := range answers {
		a.reply.Name = l.nodes[i].label
		info.Members = append(info.Members, redlatch.Member{Info: a.reply, Err: a.err})
		ttls = append(ttls, a.reply.TTL)
	}
	info.TTL = reached(ttls, l.of.Need)
	info.Exists = info.TTL != 0
	return info, nil
}
