package fencedlock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/settings"
)

// The kinds are the plain one with acquisitions that issue tokens. The other scripts issue none; those that
// end a hold may raise the counter to tokens that were issued before.
var (
	reentrant = func() baselock.Kind {
		kind := locking.HandingOver(locking.Plain())
		kind.Label = redlatch.KindFencedLock
		kind.Takes |= settings.ClockTokens
		kind.Tokens = &baselock.Tokens{
			Key: keys.FencingToken,
			Reenter: func(s baselock.Subject) scripts.Command[scripts.Attempt] {
				return fencedlock.Reenter(s.Key, s.Tokens, s.Owner, s.Holds, s.Lease, s.Token)
			},
		}
		kind.Acquire = func(s baselock.Subject) scripts.Command[scripts.Attempt] {
			return issuer(s).Acquire(s.Key, s.Tokens, s.Owner, s.Lease)
		}
		kind.Atomic = func(from, to baselock.Subject) scripts.Command[scripts.Attempt] {
			return issuer(to).HandOver(from.Key, from.Tokens, from.Owner, to.Owner, to.Lease, from.Token, to.Block)
		}
		kind.Queue = &baselock.Queue{
			Keys: keys.LockRowKeys,
			Enqueue: func(s baselock.Subject, queue []string, patience time.Duration, looks bool) scripts.Command[row.Answer] {
				return issuer(s).Enlist(s.Key, s.Tokens, s.Owner, s.Lease, queue, patience, looks)
			},
			HandOff: func(s baselock.Subject, turn row.Turn) scripts.Command[row.Release] {
				return issuer(s).Pass(s.Key, s.Tokens, s.Owner, s.Wake, turn)
			},
		}
		kind.Release = func(s baselock.Subject) scripts.Command[bool] {
			cmd := kind.Queue.HandOff(s, row.Turn{Row: keys.LockRowKeys(s.Key), Token: s.Token})
			return scripts.Map(cmd, func(r row.Release) bool { return r.Freed })
		}
		return kind
	}()
	nonReentrant = locking.NonReentrant(reentrant)
)

// issuer is the set of scripts that issue tokens: from the counter alone, or from the server's clock too.
func issuer(s baselock.Subject) *fencedlock.Issuer {
	if s.Clock {
		return fencedlock.Clocked
	}
	return fencedlock.Counted
}

func lastToken(key string) scripts.Command[int64] { return lane.Read(keys.FencingToken(key)) }

// tokened refuses a hold without a token. There is only one way to get it: ctx carries a hold of a plain lock
// of the same name, whose owner was re-entered. Handing it out would have the program write with token 0.
func (l *Lock) tokened(ctx context.Context, hold *redlatch.Hold, err error) (*redlatch.Hold, error) {
	if err != nil || hold.Token() != 0 {
		return hold, err
	}
	_ = hold.Unlock(ctx) // the outer hold goes on, and what is wrong with it is its news
	return nil, errs.Wrong("fenced lock %q: the context holds a lock of another kind by this name, which has no token; "+
		"use fenced locks only for one name", l.base.Name)
}
