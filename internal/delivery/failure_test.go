package delivery_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
)

// serverError is an error in a server's words.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

func TestEveryFailureOfTheServerOrTheNetworkMatchesErrUnavailable(t *testing.T) {
	for _, err := range []error{
		notYet, unknown, moved, hopeless, redis.ErrClosed, redis.ErrPoolTimeout,
		serverError("LOADING Redis is loading the dataset in memory"), serverError("READONLY You can't write against a read only replica."),
		serverError("MASTERDOWN Link with MASTER is down"), serverError("CLUSTERDOWN The cluster is down"),
		serverError("NOAUTH Authentication required."), serverError("NOPERM this user has no permissions"),
		serverError("OOM command not allowed when used memory > 'maxmemory'."),
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(step{err: err})
			_, _, got := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
			require.ErrorIs(t, got, errs.Unavailable)
			require.ErrorIs(t, got, err, "it carries what the server said")
			require.NotErrorIs(t, got, errs.Invalid)
			require.NotErrorIs(t, got, errs.NotAcquired)
		})
	}
}

func TestWhatTheProgramHasToCorrectMatchesErrInvalidInstead(t *testing.T) {
	for _, err := range []error{
		serverError("WRONGTYPE Operation against a key holding the wrong kind of value"), serverError("ERR value is not an integer or out of range"),
		serverError("CROSSSLOT Keys in request don't hash to the same slot"),
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(step{err: err})
			_, _, got := delivery.Deliver(t.Context(), p.dispatcher(), echo(), limit)
			require.ErrorIs(t, got, errs.Invalid)
			require.ErrorIs(t, got, err)
			require.NotErrorIs(t, got, errs.Unavailable)
		})
	}
}

func TestACallerWhoLeavesKnowsOfAnOutageOnlyIfASendHasFailed(t *testing.T) {
	for name, test := range map[string]struct {
		steps []step
		known bool
	}{
		"no answer yet": {[]step{{value: 7, took: time.Minute}}, false},
		"one failed, and no answer to the next yet": {[]step{{err: notYet}, {value: 7, took: time.Minute}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, _, err := delivery.Deliver(ctx, newPlay(test.steps...).dispatcher(), echo(), limit)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, test.known, errors.Is(err, errs.Unavailable))
				time.Sleep(time.Minute) // the command in flight ends
			})
		})
	}
}

// The time of a release is the library's, so its end says that the server did not answer.
func TestAReleaseWithoutAnAnswerInItsTimeIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(step{value: 7, took: time.Minute})
		_, _, err := delivery.Within(t.Context(), p.dispatcher(), echo(), delivery.Limit{Outage: time.Second, Total: time.Second})
		require.ErrorIs(t, err, errs.Unavailable)
		time.Sleep(time.Minute)
	})
}
