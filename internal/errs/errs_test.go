package errs_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/internal/errs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAWrongArgumentIsInvalidAndSaysWhatToDo(t *testing.T) {
	err := errs.Wrong("at least %d", 1)
	require.ErrorIs(t, err, errs.Invalid)
	require.EqualError(t, err, "redlatch: invalid argument: at least 1")
}

func TestNoSentinelMatchesAnother(t *testing.T) {
	all := []error{
		errs.NotAcquired, errs.Unavailable, errs.NotHeld, errs.Lost, errs.Released, errs.Upgrade, errs.NotReentrant, errs.NotReplicated,
		errs.Uncertain, errs.Invalid,
	}
	for i, a := range all {
		for j, b := range all {
			require.Equal(t, i == j, errors.Is(a, b), "%v and %v", a, b)
		}
	}
}
