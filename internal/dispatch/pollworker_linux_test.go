package dispatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
)

const patience = 20 * time.Second

// eventFiles is how many eventfds the process has open.
func eventFiles(t *testing.T) (count int) {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.Contains(target, "[eventfd]") {
			count++
		}
	}
	return count
}

func TestALoneCallerHasAPollWorkerUntilNothingIsSentAnyMore(t *testing.T) {
	s := newServer()
	s.rtt = 0
	const stay = 500 * time.Millisecond
	d := dispatch.New(s, nil, linger(stay))
	files := eventFiles(t)
	for n := range int64(100) {
		cmd := command(n)
		require.NoError(t, d.Do(t.Context(), "key", cmd, dispatch.ToMaster))
		require.Equal(t, n, cmd.Val())
	}
	require.True(t, d.HasPollWorker())
	require.Equal(t, files+2, eventFiles(t), "one to come and one to go, whatever the number of commands")
	require.Eventually(t, func() bool {
		leaders, queued, parked := d.Load()
		return leaders == 0 && queued == 0 && parked == 0 && !d.HasPollWorker() && eventFiles(t) == files
	}, patience, stay/10)

	cmd := command(7) // and there is another one when it is wanted again
	require.NoError(t, d.Do(t.Context(), "key", cmd, dispatch.ToMaster))
	require.EqualValues(t, 7, cmd.Val())
	require.Eventually(t, func() bool { return eventFiles(t) == files }, patience, stay/10)
}

func TestALoneCallerWhoLeavesThePollWorkerReturnsBeforeItsCommandEnds(t *testing.T) {
	s := newServer()
	under, release := make(chan struct{}), make(chan struct{})
	s.before = func(cmd redis.Cmder) {
		if number(cmd) == 1 {
			close(under)
			<-release
		}
	}
	d := dispatch.New(s, nil, linger(time.Second))
	require.Eventually(t, func() bool {
		require.NoError(t, d.Do(t.Context(), "key", command(0), dispatch.ToMaster))
		return d.PollWorkerIsFree()
	}, patience, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-under; cancel() }()
	var flight *dispatch.InFlight
	require.ErrorAs(t, d.Do(ctx, "key", command(1), dispatch.ToMaster), &flight)
	require.ErrorIs(t, flight, context.Canceled)

	cmd := command(2) // while the poll worker is busy for nobody
	require.NoError(t, d.Do(t.Context(), "key", cmd, dispatch.ToMaster))
	require.EqualValues(t, 2, cmd.Val())
	close(release)
	require.EqualValues(t, 1, ended(t, flight).Val())
	require.Eventually(t, func() bool { leaders, _, parked := d.Load(); return leaders+parked == 0 }, patience, 10*time.Millisecond)
}

// Callers of a poll worker leave just before, just after and together with the end of their commands, and now and then
// somebody comes who is not alone. What one of them leaves behind must not reach the next.
func TestAPollWorkerMixesUpNobody(t *testing.T) {
	s := newServer()
	s.rtt = 20 * time.Microsecond
	d := dispatch.New(s, nil, linger(100*time.Millisecond))
	others := make(chan error, 1000)
	started, left := 0, 0
	for n := range int64(1000) {
		if rand.IntN(10) == 0 && started < cap(others) {
			started++
			go func() {
				cmd := command(-1 - n)
				err := d.Do(t.Context(), "key", cmd, dispatch.ToMaster)
				if err == nil && cmd.Val() != -1-n {
					err = errors.New("a stranger's reply")
				}
				others <- err
			}()
		}
		ctx, cancel := context.WithCancel(t.Context())
		after := time.Duration(rand.IntN(200)) * time.Microsecond
		timer := time.AfterFunc(after, cancel)
		cmd := command(n)
		err := d.Do(ctx, "key", cmd, dispatch.ToMaster)
		var flight *dispatch.InFlight
		if errors.As(err, &flight) {
			left++
			cmd = ended(t, flight)
			err = nil
		}
		timer.Stop()
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.Canceled) // while it was queued, or before
			continue
		}
		require.Equal(t, n, cmd.Val())
	}
	require.Positive(t, left)
	for range started {
		require.NoError(t, <-others)
	}
	require.Eventually(t, func() bool { leaders, _, parked := d.Load(); return leaders+parked == 0 }, patience, 10*time.Millisecond)
}

func TestABubbleHasNoPollWorkerWhichWouldStopItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(newServer(), nil, linger(time.Second))
		require.NoError(t, d.Do(t.Context(), "key", command(1), dispatch.ToMaster))
		require.False(t, d.HasPollWorker())
		synctest.Wait()
		time.Sleep(2 * time.Second)
	})
}
