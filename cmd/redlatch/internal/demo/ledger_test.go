package demo

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func here(present ...int) func(int) (bool, error) {
	return func(worker int) (bool, error) {
		for _, w := range present {
			if w == worker {
				return true, nil
			}
		}
		return false, nil
	}
}

func TestAJobOfTheAbsentComesFirst(t *testing.T) {
	l := newLedger(3)
	number, over, err := l.take(1, here(1, 2))
	require.NoError(t, err)
	require.Equal(t, 1, number)
	require.False(t, over)

	number, _, err = l.take(2, here(1, 2))
	require.NoError(t, err)
	require.Equal(t, 2, number, "worker 1 is at job 1")

	number, _, err = l.take(3, here(2, 3))
	require.NoError(t, err)
	require.Equal(t, 1, number, "worker 1 is gone")
	require.Equal(t, job{State: owned, Worker: 3, Attempt: 2}, l.Jobs[0])
	require.Equal(t, 3, l.Updates)
}

func TestOnlyTheOwnerRecordsAJob(t *testing.T) {
	l := newLedger(1)
	_, _, err := l.take(1, here(1))
	require.NoError(t, err)
	_, _, err = l.take(2, here(2))
	require.NoError(t, err)
	require.False(t, l.finish(1, 1, 1), "it is worker 2's")
	require.False(t, l.finish(1, 2, 1), "that was the first attempt")
	require.True(t, l.finish(1, 2, 2))
	require.False(t, l.finish(1, 2, 2), "a second time")

	number, over, err := l.take(1, here(1))
	require.NoError(t, err)
	require.Zero(t, number)
	require.True(t, over)
}

func TestNothingIsTakenWhileOthersHaveAllThatIsLeft(t *testing.T) {
	l := newLedger(1)
	_, _, err := l.take(1, here(1))
	require.NoError(t, err)
	number, over, err := l.take(2, here(1, 2))
	require.NoError(t, err)
	require.Zero(t, number)
	require.False(t, over)
	require.Equal(t, 1, l.Updates)
}

func TestNothingIsTakenOnAGuess(t *testing.T) {
	l := newLedger(2)
	_, _, err := l.take(1, here(1))
	require.NoError(t, err)
	failure := errors.New("no answer")
	_, _, err = l.take(2, func(int) (bool, error) { return false, failure })
	require.ErrorIs(t, err, failure)
	require.Equal(t, 1, l.Updates)
}
