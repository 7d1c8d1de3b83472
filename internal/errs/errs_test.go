package errs_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/internal/errs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestALossIsLostAndWhatCausedItAndNothingElse(t *testing.T) {
	loss := &errs.Loss{Name: "orders", Owner: "id:1", Reason: "nobody answered", At: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), Cause: io.EOF}
	err := fmt.Errorf("unlock: %w", loss)
	require.ErrorIs(t, err, errs.Lost)
	require.ErrorIs(t, err, io.EOF)
	require.NotErrorIs(t, err, errs.Released)
	var found *errs.Loss
	require.ErrorAs(t, err, &found)
	require.Same(t, loss, found)
	require.Equal(t, `redlatch: "orders" lost at 03:04:05.006 by id:1: nobody answered: EOF`, loss.Error())
	require.NoError(t, errors.Unwrap(&errs.Loss{}))
}

func TestAWrongArgumentIsInvalidAndSaysWhatToDo(t *testing.T) {
	err := errs.Wrong("at least %d", 1)
	require.ErrorIs(t, err, errs.Invalid)
	require.EqualError(t, err, "redlatch: invalid argument: at least 1")
}

func TestNoSentinelMatchesAnother(t *testing.T) {
	all := []error{
		errs.NotAcquired, errs.NotHeld, errs.Lost, errs.Released, errs.Upgrade, errs.NotReentrant, errs.NotReplicated,
		errs.Uncertain, errs.Invalid,
	}
	for i, a := range all {
		for j, b := range all {
			require.Equal(t, i == j, errors.Is(a, b), "%v and %v", a, b)
		}
	}
}
