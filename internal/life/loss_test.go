package life_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/life"
)

func lost() *redlatch.LossError {
	return &redlatch.LossError{Name: "orders", Owner: "me", Reason: redlatch.ReasonTaken, At: time.Now()}
}

func of(log *strings.Builder) life.Of {
	return life.Of{Thing: "lock", Kind: redlatch.KindLock, Logger: slog.New(slog.NewTextHandler(log, nil))}
}

func TestTheFirstLossIsTheOne(t *testing.T) {
	var l life.Loss
	require.Nil(t, l.Err())
	first := lost()
	require.True(t, l.Begin(first, false))
	require.False(t, l.Begin(lost(), true))
	l.Found("somebody") // a renewal that comes late
	require.Same(t, first, l.Err())
}

func TestANoticeThatARenewalHasFoundIsTold(t *testing.T) {
	var l life.Loss
	var log strings.Builder
	l.Found("ops: incident 12")
	require.Nil(t, l.Err())
	first := lost()
	require.True(t, l.Begin(first, true))
	require.Equal(t, "ops: incident 12", l.Err().Forced)
	require.Empty(t, first.Forced, "the contexts end before it is asked for")
	require.Same(t, l.Err(), l.Tell(of(&log), nil), "nothing is to be found out")
	require.Contains(t, log.String(), "ops: incident 12")
	require.Equal(t, 1, strings.Count(log.String(), "lock lost"))
}

func TestWhatIsFoundOutLaterIsInTheErrorOfUnlock(t *testing.T) {
	var l life.Loss
	var log strings.Builder
	first, asked := lost(), make(chan struct{})
	require.True(t, l.Begin(first, true))
	require.Same(t, first, l.Tell(of(&log), func(err *redlatch.LossError) *redlatch.LossError {
		<-asked
		told := *err
		told.Reason = redlatch.ReasonRestarted
		return &told
	}), "it does not wait")
	other := errors.New("another error")
	require.Equal(t, other, l.Explain(other))
	require.Same(t, first, l.Err())
	close(asked)
	told := new(redlatch.LossError)
	require.ErrorAs(t, l.Explain(first), &told)
	require.Equal(t, redlatch.ReasonRestarted, told.Reason)
	require.Same(t, told, l.Err())
}

func TestAHookThatEndsTheGoroutineHoldsUpNoUnlock(t *testing.T) {
	var l life.Loss
	var log strings.Builder
	first := lost()
	require.True(t, l.Begin(first, true))
	_ = l.Tell(of(&log), func(*redlatch.LossError) *redlatch.LossError { panic("a hook") })
	require.Equal(t, error(first), l.Explain(first))
}
