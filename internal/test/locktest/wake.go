package locktest

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// How soon a waiter is served.
var wakeCases = []trial{
	{"a release wakes the waiter of another process", messages, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		asked := l.asks(l.lock(redlatch.WithPoll(time.Hour)), l.ctx)
		time.Sleep(time.Second)
		at := time.Now()
		l.give(holder)
		got := <-asked
		require.NoError(l, got.err)
		require.Zero(l, got.at.Sub(at))
		l.give(got.hold)
	}},
	{"a release wakes the next waiter of the same process", messages, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		lock := l.lock(redlatch.WithPoll(time.Hour))
		first, second := l.asks(lock, l.ctx), l.asks(lock, l.ctx)
		time.Sleep(time.Second)
		at := time.Now()
		l.give(holder)
		for range 2 {
			var got grant
			select {
			case got = <-first:
			case got = <-second:
			}
			require.NoError(l, got.err)
			require.Zero(l, got.at.Sub(at))
			l.give(got.hold)
		}
	}},
	{"a wake-up is handed on by a waiter who leaves", messages, func(l *lab) {
		// The release and the end of the first waiter's context meet in every order over the rounds.
		stranger, lock := l.stranger(), l.lock(redlatch.WithPoll(time.Hour))
		for range 50 {
			holder := l.take(stranger, l.ctx)
			ctx, cancel := context.WithCancel(l.ctx)
			first := l.asks(lock, ctx)
			synctest.Wait()
			second := l.asks(lock, l.ctx)
			synctest.Wait()
			go cancel()
			at := time.Now()
			l.give(holder)
			if got := <-first; got.err == nil {
				l.give(got.hold)
			}
			got := <-second
			require.NoError(l, got.err)
			require.Zero(l, got.at.Sub(at))
			l.give(got.hold)
		}
	}},
	{"a lost message costs at most the poll interval", nil, func(l *lab) {
		for _, poll := range []time.Duration{500 * time.Millisecond, 3 * time.Second} {
			l.take(l.stranger(), l.ctx)
			asked := l.asks(l.lock(redlatch.WithPoll(poll)), l.ctx)
			time.Sleep(10*time.Second + 123*time.Millisecond)
			at := time.Now()
			l.lose() // as a release whose message never came
			got := <-asked
			require.NoError(l, got.err)
			require.LessOrEqual(l, got.at.Sub(at), poll)
			l.give(got.hold)
		}
	}},
	{"the lock of a dead holder is taken when its lease is over", nil, func(l *lab) {
		start := time.Now()
		l.take(l.stranger(), l.ctx, redlatch.WithLease(time.Second))
		got := <-l.asks(l.lock(redlatch.WithPoll(time.Minute)), l.ctx)
		require.NoError(l, got.err)
		require.GreaterOrEqual(l, got.at.Sub(start), time.Second)
		require.LessOrEqual(l, got.at.Sub(start), time.Second+max(200*time.Millisecond, l.has.Pause))
		l.give(got.hold)
	}},
	{"a key without a lease does not keep a waiter from asking", nil, func(l *lab) {
		l.take(l.stranger(), l.ctx)
		for _, key := range l.has.Keys(l.name) {
			require.NoError(l, l.client.Persist(l.ctx, key).Err())
		}
		asked := l.asks(l.lock(redlatch.WithPoll(time.Second)), l.ctx)
		time.Sleep(2500 * time.Millisecond)
		at := time.Now()
		l.lose()
		got := <-asked
		require.NoError(l, got.err)
		require.LessOrEqual(l, got.at.Sub(at), time.Second)
		l.give(got.hold)
	}},
	{"force-unlocking wakes the waiters", forceable, func(l *lab) {
		l.take(l.stranger(), l.ctx)
		lock := l.lock(redlatch.WithPoll(time.Hour))
		asked := l.asks(lock, l.ctx)
		time.Sleep(time.Second)
		freed, err := l.forceUnlock(lock)
		require.NoError(l, err)
		require.True(l, freed)
		got := <-asked
		require.NoError(l, got.err)
		if l.has.Messages {
			require.Less(l, time.Since(got.at), time.Second)
		}
		l.give(got.hold)
		freed, err = l.forceUnlock(lock)
		require.NoError(l, err)
		require.False(l, freed, "nobody held it")
	}},
	{"a lock that its own process has taken away by force is handed to no waiter", forceable, func(l *lab) {
		lock := l.lock()
		hold := l.take(lock, l.ctx)
		asked := l.asks(lock, l.ctx)
		synctest.Wait()
		freed, err := l.forceUnlock(lock)
		require.NoError(l, err)
		require.True(l, freed)
		require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrLost)
		got := <-asked
		require.NoError(l, got.err)
		l.give(got.hold)
	}},
}

func messages(f Features) bool  { return f.Messages }
func forceable(f Features) bool { return f.ForceUnlock != nil }
