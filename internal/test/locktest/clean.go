package locktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
)

var cleanCases = []trial{
	{"a moment after the last use nothing is left", nil, func(l *lab) {
		l.keys() // the lab's own connection is open from here on; on miniredis it has goroutines
		before := goleak.IgnoreCurrent()
		client, other := l.second(), l.second()
		lock := l.make(l, client, l.name, Quiet...)
		stranger := l.has.Blocker(l, other, l.name, Quiet...)

		// Something of everything: a wait that is served, one that ends, a renewed hold, a re-entry, a loss.
		holder := l.take(stranger, l.ctx)
		ctx, cancel := context.WithCancel(l.ctx)
		served, ended := l.asks(lock, l.ctx), l.asks(lock, ctx)
		if l.has.Messages {
			l.eventually("a subscription", func() bool { return len(l.channels()) > 0 })
		}
		cancel()
		_ = await(l, "the end of a wait", ended)
		l.give(holder)
		got := await(l, "the lock", served)
		require.NoError(l, got.err)
		work := got.hold.Context(l.ctx)
		if l.has.Reentrant {
			l.give(l.take(lock, work))
		}
		l.give(got.hold)
		lost := l.take(lock, l.ctx, redlatch.WithWatchdogTimeout(3*time.Second))
		l.lose()
		require.ErrorIs(l, lost.Unlock(l.ctx), redlatch.ErrLost)

		l.eventually("no subscription is left", func() bool { return len(l.channels()) == 0 })
		// The command of a wait that has ended may still be on its way. What it takes is given back right after its answer.
		l.eventually("nothing is left", func() bool { return len(l.left(l.name)) == 0 })
		// The clients are the program's, and stay; what they run themselves is closed with them.
		require.NoError(l, client.Close())
		require.NoError(l, other.Close())
		var leak error
		for deadline := time.Now().Add(patience); ; {
			if leak = goleak.Find(before); leak == nil || time.Now().After(deadline) { // Find itself tries for a second
				break
			}
		}
		require.NoError(l, leak)
	}},
	{"what lingers is gone after the linger time", messages, func(l *lab) {
		client := l.second()
		lock := l.make(l, client, l.name, briefly.Linger(300*time.Millisecond))
		for range 2 {
			holder := l.take(l.stranger(), l.ctx)
			asked := l.asks(lock, l.ctx)
			l.eventually("a subscription", func() bool { return len(l.channels()) > 0 })
			l.give(holder)
			got := await(l, "the lock", asked)
			require.NoError(l, got.err)
			l.give(got.hold)
			l.eventually("no subscription is left", func() bool { return len(l.channels()) == 0 })
		}
	}},
}

// channels are those that somebody listens to.
func (l *lab) channels() []string {
	l.Helper()
	channels, err := l.client.PubSubChannels(context.Background(), "*").Result()
	require.NoError(l, err)
	return channels
}
