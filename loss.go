package redlatch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
)

// A LossError says when and why one hold was lost. It matches ErrLost, and also the error of the last renewal
// if that was the reason.
//
// The contexts of a hold end at once, with what is known in that moment. Unlock, the log and EventLost know
// more if the key no longer named the owner: who has taken it by force, or that the server was restarted.
type LossError struct {
	Name   string     // of the lock or semaphore
	Owner  string     // the identity that held it, of a Permit its first id; empty for a hold of several locks
	Reason LossReason // why, for a switch or a label
	// the same in a clause, where more is known than Reason says: "1 of its members are left and it needs 2";
	// else empty
	Detail string
	At     time.Time // when this process learned of it
	// what the last renewals failed with, nil if they did not fail; of a hold of several locks the loss of a
	// member
	Cause error
	// who took it away by force and why, if that was said: see fleet.Holder.Free. Never in the cause of a
	// context
	Forced string
}

// A LossReason is why something was lost, in a word that suits as a label. Later versions may have more.
type LossReason string

// The reasons.
const (
	// Redis does not name the holder any more: forced, deleted, evicted, expired
	ReasonTaken      LossReason = "taken"
	ReasonRestarted  LossReason = "restarted"  // the same, and the server was started anew since the hold was acquired
	ReasonUnanswered LossReason = "unanswered" // no renewal was answered for as long as the lease could be trusted
	ReasonLeaseOver  LossReason = "lease_over" // the lease of [WithLease] was over
	ReasonLimitOver  LossReason = "limit_over" // the time of [WithMaxHold] was over
	ReasonMembers    LossReason = "members"    // a hold of several locks has lost too many of its members
	ReasonForgotten  LossReason = "forgotten"  // the hold became unreachable without Unlock; its event is EventForgotten
)

// clause is the reason in a sentence about what was lost.
func (r LossReason) clause() string {
	switch r {
	case ReasonTaken:
		return "the key no longer names this owner"
	case ReasonRestarted:
		return "the server was restarted and does not have it any more"
	case ReasonUnanswered:
		return "no renewal was answered until the lease could no longer be trusted"
	case ReasonLeaseOver:
		return "the lease ran out"
	case ReasonLimitOver:
		return "the maximum hold time is over"
	case ReasonMembers:
		return "too many of its members are lost"
	case ReasonForgotten:
		return "it was dropped without Unlock"
	}
	return string(r)
}

// Error says what was lost, when and why.
func (l *LossError) Error() string {
	text := fmt.Sprintf("redlatch: %q lost at %s", errs.Short(l.Name), l.At.Format("15:04:05.000"))
	if l.Owner != "" {
		text += " by " + l.Owner
	}
	text += ": " + cmp.Or(l.Detail, l.Reason.clause())
	cause := ""
	if l.Cause != nil {
		cause = l.Cause.Error()
	}
	const forced = "; it was freed by force by "
	if l.Forced != "" && !strings.Contains(cause, forced) { // a member of several locks may have said so, of its own server
		text += forced + l.Forced
	}
	if l.Cause != nil {
		text += ": " + cause
	}
	return text
}

// Is makes every LossError match ErrLost.
func (l *LossError) Is(target error) bool { return target == ErrLost }

// Unwrap returns Cause, so that errors.Is and errors.As find it too.
func (l *LossError) Unwrap() error { return l.Cause }
