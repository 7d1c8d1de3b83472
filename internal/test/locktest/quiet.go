package locktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// What must not reach the server at all.
var quietCases = []trial{
	{"a context that is over sends nothing", nil, func(l *lab) {
		ctx, cancel := context.WithCancel(l.ctx)
		cancel()
		lock := l.lock()
		l.sendsNothing(func() {
			_, err := lock.Lock(ctx)
			require.ErrorIs(l, err, context.Canceled)
			require.NotErrorIs(l, err, redlatch.ErrNotAcquired, "nothing is known")
			_, err = lock.TryLock(ctx)
			require.NotErrorIs(l, err, redlatch.ErrNotAcquired)
		})
	}},
	{"the second Unlock sends nothing", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		l.give(hold)
		l.sendsNothing(func() { require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrReleased) })
	}},
	{"a refusal to its own holder sends nothing", nonReentrant, func(l *lab) {
		lock := l.lock()
		hold := l.take(lock, l.ctx)
		l.sendsNothing(func() {
			_, err := lock.Lock(hold.Context(l.ctx))
			require.ErrorIs(l, err, l.has.Refusal)
		})
		l.give(hold)
	}},
	{"misuse sends nothing", nil, func(l *lab) {
		l.sendsNothing(func() {
			for _, lock := range []redlatch.Locker{l.named(""), l.lock(redlatch.WithTTL(time.Minute)), l.lock(redlatch.WithLease(0))} {
				_, err := lock.Lock(l.ctx)
				require.ErrorIs(l, err, redlatch.ErrInvalid)
			}
			_, err := l.lock().TryLock(l.ctx, redlatch.WithWait(time.Second))
			require.ErrorIs(l, err, redlatch.ErrInvalid)
		})
	}},
	{"making a lock sends nothing", nil, func(l *lab) { l.sendsNothing(func() { l.lock() }) }},
}

// sendsNothing requires that fn reaches the server with no command.
func (l *lab) sendsNothing(fn func()) {
	l.Helper()
	before := l.srv.Commands(l)
	fn()
	require.Zero(l, l.srv.Commands(l)-before, "commands sent")
}
