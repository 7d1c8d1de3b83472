package locktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// What the cases on fake time say, once more on a server with a clock of its own. Nothing is asserted about how long
// things take, but for a poll interval so long that a case which had to wait for it would fail.
var serverCases = []trial{
	{"a release wakes a waiter long before its poll", messages, func(l *lab) {
		stranger, lock := l.stranger(), l.lock(redlatch.WithPoll(time.Hour))
		for range 20 {
			holder := l.take(stranger, l.ctx)
			asked := l.asks(lock, l.ctx)
			l.give(holder)
			got := await(l, "the lock", asked)
			require.NoError(l, got.err)
			l.give(got.hold)
		}
	}},
	{"a waiter is served although no message comes", nil, func(l *lab) {
		l.take(l.stranger(), l.ctx)
		asked := l.asks(l.lock(redlatch.WithPoll(200*time.Millisecond)), l.ctx)
		l.lose()
		got := await(l, "the lock", asked)
		require.NoError(l, got.err)
		l.give(got.hold)
	}},
	{"the watchdog keeps a lock beyond its timeout", watched, func(l *lab) {
		const timeout = 4 * time.Second // a busy machine may stand still for a second
		hold := l.take(l.lock(), l.ctx, redlatch.WithWatchdogTimeout(timeout))
		first := hold.Until()
		l.eventually("three renewals", func() bool { return hold.Until().After(first.Add(timeout)) })
		l.refused(l.stranger(), l.ctx)
		require.True(l, hold.Valid())
		l.give(hold)
	}},
	{"a lock taken away ends the hold's context", watched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithWatchdogTimeout(1500*time.Millisecond))
		work := hold.Context(l.ctx)
		l.lose()
		await(l, "the end of the context", work.Done())
		require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
		require.Empty(l, l.left(l.name))
	}},
	{"the context of a fixed lease ends before the server's", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(3*time.Second))
		work := hold.Context(l.ctx)
		stranger := l.stranger(redlatch.WithPoll(50 * time.Millisecond))
		got := await(l, "the lock", l.asks(stranger, l.ctx))
		require.NoError(l, got.err)
		require.False(l, hold.Valid(), "the successor has it, so the hold is over by the clock")
		await(l, "the end of the context", work.Done())
		require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
		l.give(got.hold)
	}},
}
