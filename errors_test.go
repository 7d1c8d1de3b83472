package redlatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/watchdog"
)

func TestALossIsErrLostAndWhatCausedItAndNothingElse(t *testing.T) {
	loss := &redlatch.LossError{
		Name: "orders", Owner: "id:1", Reason: redlatch.ReasonUnanswered, Detail: "nobody answered", At: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), Cause: io.EOF,
	}
	err := fmt.Errorf("unlock: %w", loss)
	require.ErrorIs(t, err, redlatch.ErrLost)
	require.ErrorIs(t, err, io.EOF)
	require.NotErrorIs(t, err, redlatch.ErrReleased)
	var found *redlatch.LossError
	require.ErrorAs(t, err, &found)
	require.Same(t, loss, found)
	require.Equal(t, `redlatch: "orders" lost at 03:04:05.006 by id:1: nobody answered: EOF`, loss.Error())
	require.NoError(t, errors.Unwrap(&redlatch.LossError{}))
}

func TestALossSaysItsReasonInAClauseWhereNoMoreIsKnown(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	for reason, clause := range map[redlatch.LossReason]string{
		redlatch.ReasonTaken: "the key no longer names this owner", redlatch.ReasonLeaseOver: "the lease ran out",
		redlatch.ReasonUnanswered: "no renewal was answered until the lease could no longer be trusted",
		redlatch.ReasonLimitOver:  "the maximum hold time is over", redlatch.ReasonMembers: "too many of its members are lost",
		redlatch.ReasonForgotten: "it was dropped without Unlock", "of another version": "of another version",
	} {
		require.Equal(t, `redlatch: "orders" lost at 03:04:05.006: `+clause, (&redlatch.LossError{Name: "orders", Reason: reason, At: at}).Error())
	}
}

// A redlock is freed on one server after the other, perhaps in two different seconds.
func TestALossSaysOnceWhoHasForcedIt(t *testing.T) {
	member := &redlatch.LossError{Name: "orders", Owner: "id:1", Reason: redlatch.ReasonTaken, Forced: "ada at 03:04:05: it hangs"}
	loss := &redlatch.LossError{Name: "orders", Reason: redlatch.ReasonMembers, Forced: "ada at 03:04:06: it hangs"}
	require.Contains(t, loss.Error(), "; it was freed by force by ada at 03:04:06: it hangs")
	loss.Cause = member
	require.Equal(t, 1, strings.Count(loss.Error(), "freed by force by ada"), loss.Error())
}

// The watchdog cannot name the type, and has the words of it.
func TestTheWatchdogSaysWhyInTheWordsOfThisPackage(t *testing.T) {
	for said, reason := range map[string]redlatch.LossReason{
		watchdog.NotOwned: redlatch.ReasonTaken, watchdog.Unanswered: redlatch.ReasonUnanswered,
		watchdog.LeaseOver: redlatch.ReasonLeaseOver, watchdog.HoldOver: redlatch.ReasonLimitOver,
	} {
		require.Equal(t, string(reason), said)
	}
}

func TestTheTextOfARefusal(t *testing.T) {
	e := redlatch.NotAcquiredError{Name: "orders", Kind: redlatch.KindFairLock, Detail: "is held by somebody else"}
	require.EqualError(t, &e, `redlatch: not acquired: fair lock "orders" is held by somebody else`)
	e.Cause = context.Canceled
	require.EqualError(t, &e, `redlatch: not acquired: fair lock "orders": context canceled; it is held by somebody else`)
	require.EqualError(t, &redlatch.NotAcquiredError{Name: "x", Kind: redlatch.KindLock}, `redlatch: not acquired: lock "x" is taken`)
}

func TestAHolderInALineSaysWhatIsKnown(t *testing.T) {
	line := func(h redlatch.HeldBy) string {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "holder", h)
		_, attrs, _ := strings.Cut(log.String(), "msg=x ")
		return strings.TrimSpace(attrs)
	}
	require.Equal(t, "holder.owner=u:1", line(redlatch.HeldBy{Holder: redlatch.Holder{Owner: "u:1"}}))
	now := time.Now()
	require.Regexp(t, "^holder.owner=u:1 holder.host=web-3 holder.pid=17 holder.program=billing holder.label=blue "+
		"holder.held=1h0m[0-9.]+m?s holder.seen=1m[0-9.]+m?s holder.member=m holder.side=read holder.value=v holder.own=true$", line(redlatch.HeldBy{
		Holder: redlatch.Holder{Owner: "u:1", Side: "read", Value: "v", Own: true, Since: now.Add(-time.Hour)},
		Member: "m", Host: "web-3", PID: 17, Program: "billing", Label: "blue", Seen: now.Add(-time.Minute),
	}))
}
