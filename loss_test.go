package redlatch_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

func TestALossIsErrLostAndWhatCausedItAndNothingElse(t *testing.T) {
	loss := &redlatch.LossError{
		Name: "orders", Owner: "id:1", Reason: "nobody answered", At: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), Cause: io.EOF,
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
