package countertest

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func waitEnds(l *lab) {
	l.shut(1)
	start := time.Now()
	err := l.counter(l.client).Wait(l.Context(), redlatch.WithWait(7*time.Second))
	require.Equal(l, 7*time.Second, time.Since(start))
	require.ErrorIs(l, err, redlatch.ErrNotAcquired)
	require.ErrorIs(l, err, context.DeadlineExceeded)

	start = time.Now()
	patient := l.counter(l.client, redlatch.WithWait(time.Second))
	require.ErrorIs(l, patient.Wait(l.Context()), context.DeadlineExceeded)
	require.Equal(l, time.Second, time.Since(start), "the option of New is the default")
	require.ErrorIs(l, patient.Wait(l.Context(), redlatch.WithWait(4*time.Second)), context.DeadlineExceeded)
	require.Equal(l, 5*time.Second, time.Since(start), "the option of the call wins")

	require.NoError(l, l.counter(l.direct).Raise(l.Context()))
	require.NoError(l, l.counter(l.direct).Wait(l.Context()), "an ended wait has taken nothing")
}

func contextEnds(l *lab) {
	l.shut(1)
	cause := errors.New("the shop is closing")
	ctx, cancel := context.WithTimeoutCause(l.Context(), 2*time.Second, cause)
	defer cancel()
	start := time.Now()
	err := l.counter(l.client).Wait(ctx, redlatch.WithWait(7*time.Second))
	require.Equal(l, 2*time.Second, time.Since(start))
	require.ErrorIs(l, err, redlatch.ErrNotAcquired)
	require.ErrorIs(l, err, context.DeadlineExceeded)
	require.ErrorIs(l, err, cause)
	require.NotErrorIs(l, err, redlatch.ErrUnavailable)
}

func messagesLost(l *lab) {
	c := l.counter(l.client)
	for range 20 {
		l.shut(1)
		done := l.waits(l.Context(), c)
		time.Sleep(poll / 3)
		open := time.Now()
		require.NoError(l, l.Open(l.Context(), l.direct, l.name))
		require.NoError(l, <-done)
		require.LessOrEqual(l, time.Since(open), poll+2*time.Millisecond)
	}
}

// The first waiter is the one that asks. It leaves before the message, with it, or after it.
func cancelledAnywhere(l *lab) {
	c, other, raises := l.counter(l.client), l.counter(l.direct), int64(1)
	if !l.Shared {
		raises = 2
	}
	for at := -2 * time.Millisecond; at <= 6*time.Millisecond; at += 250 * time.Microsecond {
		l.shut(raises)
		ctx, cancel := context.WithCancel(l.Context())
		first, second := l.waits(ctx, c), l.waits(l.Context(), c)
		open := time.Now().Add(5 * time.Millisecond)
		time.AfterFunc(time.Until(open)+at, cancel)
		time.Sleep(time.Until(open))
		require.NoError(l, other.Raise(l.Context()))
		if err := <-first; err != nil {
			require.ErrorIs(l, err, redlatch.ErrNotAcquired)
			require.ErrorIs(l, err, context.Canceled)
		} else if !l.Shared {
			require.NoError(l, other.Raise(l.Context()))
		}
		require.NoError(l, <-second)
		require.Less(l, time.Since(open), 100*time.Millisecond, "the second one waited for the poll")
		time.Sleep(100 * time.Millisecond)
		require.Zero(l, l.value(), "each has taken what was given back for it")
		cancel()
	}
}

func message(l *lab) {
	l.shut(1)
	done := l.waits(l.Context(), l.counter(l.client, redlatch.WithPoll(long)))
	require.NoError(l, l.counter(l.direct).Raise(l.Context()))
	require.NoError(l, <-done)
	redistest.Eventually(l, "nothing is subscribed", func() bool {
		return l.direct.PubSubNumSub(l.Context(), l.Channel(l.name)).Val()[l.Channel(l.name)] == 0
	})
}

// A waiter returns at once although nothing is answered.
func silence(l *lab) {
	l.shut(1)
	proxy := faultproxy.New(l, l.srv.Addr)
	client := l.srv.Client(l, func(o *redis.Options) { o.Addr, o.ReadTimeout = proxy.Addr(), long })
	ctx, cancel := context.WithCancel(l.Context())
	done := l.waits(ctx, l.counter(client, redlatch.WithPoll(50*time.Millisecond)))
	proxy.Hole(true, true)
	cancel()
	select {
	case err := <-done:
		require.ErrorIs(l, err, context.Canceled)
	case <-time.After(30 * time.Second):
		l.Fatal("it waits for the server")
	}
	require.NoError(l, client.Close())
	proxy.Heal()
}

func closedClient(l *lab) {
	l.shut(1)
	c := l.counter(l.client, redlatch.WithPoll(long))
	results := make(chan error, 3)
	for range cap(results) {
		done := l.waits(l.Context(), c)
		go func() { results <- <-done }()
	}
	require.NoError(l, l.client.Close())
	for range cap(results) {
		err := <-results
		require.ErrorIs(l, err, redis.ErrClosed)
		require.NotErrorIs(l, err, redlatch.ErrNotAcquired)
	}
}
