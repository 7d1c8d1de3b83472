package countertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A call that gets a unit has an event that says so, and so has a call that is refused.
func observed(l *lab) {
	l.shut(2)
	var events []redlatch.Event
	c := l.counter(l.client, redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind != redlatch.EventWaiting {
			events = append(events, e)
		}
	})))
	require.NoError(l, l.counter(l.direct).Raise(l.Context()))
	if !l.Shared {
		require.NoError(l, c.Wait(l.Context()))
	}
	tried := c.Wait(l.Context(), redlatch.WithWait(0))
	ended := c.Wait(l.Context(), redlatch.WithWait(time.Second))
	for _, err := range []error{tried, ended} {
		require.ErrorIs(l, err, redlatch.ErrNotAcquired)
	}
	require.ErrorIs(l, ended, context.DeadlineExceeded)
	require.NotErrorIs(l, tried, context.DeadlineExceeded, "it asked once, as a Try method does")
	kinds := []redlatch.EventKind{redlatch.EventAcquired, redlatch.EventRefused, redlatch.EventRefused}
	if l.Shared {
		kinds = kinds[1:]
	}
	require.Len(l, events, len(kinds))
	for i, kind := range kinds {
		require.Equal(l, l.name, events[i].Name)
		require.NotEmpty(l, events[i].Primitive)
		require.Equal(l, kind, events[i].Kind)
		require.Equal(l, kind == redlatch.EventRefused, errors.Is(events[i].Err, redlatch.ErrNotAcquired))
	}
	last := events[len(events)-1]
	require.Equal(l, ended, last.Err)
	require.Equal(l, time.Second, last.Duration)
}

// The error says what to do, and nothing is sent.
func misuse(l *lab) {
	require.Panics(l, func() { l.Make(l, nil, l.name) })
	sent := &redistest.Sent{}
	l.client.AddHook(sent)
	empty := l.Make(l, l.client, "")
	mapped := l.counter(l.client, redlatch.WithNameMapper(func(string) string { return "" }))
	bad := map[string]Counter{"an empty name": empty, "a name that is mapped to none": mapped}
	for text, option := range map[string]redlatch.Option{
		"WithPoll":           redlatch.WithPoll(time.Millisecond),
		"WithOutage":         redlatch.WithOutage(0),
		"WithReleaseTimeout": redlatch.WithReleaseTimeout(0),
		"WithReplicas":       redlatch.WithReplicas(1, time.Second),
		"WithAtLeast":        redlatch.WithAtLeast(time.Minute),
	} {
		bad[text] = l.counter(l.client, option)
	}
	for what, c := range bad {
		_, look := c.Look(l.Context())
		for _, err := range []error{look, c.Raise(l.Context()), c.Wait(l.Context()), c.Wait(l.Context(), redlatch.WithWait(0))} {
			require.ErrorIs(l, err, redlatch.ErrInvalid, what)
		}
	}
	err := l.counter(l.client).Wait(l.Context(), redlatch.WithNameMapper(nil))
	require.ErrorIs(l, err, redlatch.ErrInvalid)
	require.ErrorContains(l, err, "WithNameMapper is an option of New")
	require.Zero(l, sent.Load())
	require.Empty(l, l.direct.Keys(l.Context(), "*").Val())
}

// What is kept beside the counter, so that each operation takes effect once, goes after two and a half minutes.
func nothingStays(l *lab) {
	l.shut(3)
	c := l.counter(l.client)
	a, b := l.waits(l.Context(), c), l.waits(l.Context(), c)
	for range 3 {
		require.NoError(l, c.Raise(l.Context()))
	}
	require.NoError(l, <-a)
	require.NoError(l, <-b)
	require.NotEmpty(l, l.direct.Keys(l.Context(), "redlatch_lanes:*").Val())
	time.Sleep(150*time.Second + time.Millisecond)
	left := slices.DeleteFunc(l.direct.Keys(l.Context(), "redlatch_*").Val(), func(key string) bool {
		return strings.HasPrefix(key, "redlatch_client") // see REDLATCH_REGISTRY: permits are still held
	})
	if l.Shared {
		require.Equal(l, []string{"redlatch_latch:{" + l.name + "}"}, left)
		require.LessOrEqual(l, l.direct.PTTL(l.Context(), left[0]).Val(), 24*time.Hour)
		return
	}
	require.Empty(l, left)
}
