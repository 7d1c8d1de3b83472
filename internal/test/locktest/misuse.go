package locktest

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// What a program can get wrong. The error says what to do, and nothing has changed.
var misuseCases = []trial{
	{"options that make no sense are refused", nil, func(l *lab) {
		for text, option := range map[string]redlatch.Option{
			"WithLease":           redlatch.WithLease(999 * time.Microsecond),
			"WithMaxHold":         redlatch.WithMaxHold(-time.Second),
			"WithWatchdogTimeout": redlatch.WithWatchdogTimeout(time.Millisecond),
			"WithPoll":            redlatch.WithPoll(time.Millisecond),
			"WithOutage":          redlatch.WithOutage(0),
			"WithReleaseTimeout":  redlatch.WithReleaseTimeout(0),
			"WithReplicas":        redlatch.WithReplicas(0, time.Second),
			"WithTTL":             redlatch.WithTTL(time.Minute), // is for semaphores and latches
		} {
			for _, lock := range []redlatch.Locker{l.lock(option), l.lock()} {
				_, err := lock.Lock(l.ctx, option)
				require.ErrorIs(l, err, redlatch.ErrInvalid, text)
				require.Contains(l, err.Error(), text)
			}
			_, err := l.lock(option).TryLock(l.ctx)
			require.ErrorIs(l, err, redlatch.ErrInvalid, text)
		}
		require.Empty(l, l.left(l.name))
	}},
	{"an option of New is refused by a call, which comes too late for it", nil, func(l *lab) {
		option := redlatch.WithNameMapper(func(name string) string { return "app:" + name })
		_, err := l.lock().Lock(l.ctx, option)
		require.ErrorIs(l, err, redlatch.ErrInvalid)
		require.ErrorContains(l, err, "WithNameMapper is an option of New")
		_, err = l.lock().TryLock(l.ctx, option)
		require.ErrorIs(l, err, redlatch.ErrInvalid)
		require.Empty(l, l.left(l.name))
	}},
	{"an empty name is refused", nil, func(l *lab) {
		for _, lock := range []redlatch.Locker{
			l.named(""),
			l.lock(redlatch.WithNameMapper(func(string) string { return "" })),
		} {
			_, err := lock.Lock(l.ctx)
			require.ErrorIs(l, err, redlatch.ErrInvalid)
			_, err = lock.TryLock(l.ctx)
			require.ErrorIs(l, err, redlatch.ErrInvalid)
		}
	}},
	{"WithWait on a try is refused", nil, func(l *lab) {
		_, err := l.lock().TryLock(l.ctx, redlatch.WithWait(time.Second))
		require.ErrorIs(l, err, redlatch.ErrInvalid)
		require.Contains(l, err.Error(), "WithWait")
		l.isFree(l.stranger())
	}},
	{"a key of another type is reported and left alone", nil, func(l *lab) {
		for _, key := range l.has.Keys(l.name) {
			require.NoError(l, l.client.Set(l.ctx, key, "precious", 0).Err())
		}
		for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){l.lock().Lock, l.lock().TryLock} {
			_, err := ask(l.ctx)
			require.ErrorContains(l, err, "WRONGTYPE")
			require.ErrorContains(l, err, "use another name")
			require.NotErrorIs(l, err, redlatch.ErrNotAcquired)
		}
		for _, key := range l.has.Keys(l.name) {
			require.Equal(l, "precious", l.client.Get(l.ctx, key).Val())
			require.NoError(l, l.client.Del(l.ctx, key).Err())
		}
	}},
	{"clients that cannot carry locks panic", nil, func(l *lab) {
		ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
		defer ring.Close()
		require.Panics(l, func() { l.make(l, ring, l.name) })
		require.Panics(l, func() { l.make(l, &struct{ *redis.Ring }{ring}, l.name) })
		require.Panics(l, func() { l.make(l, nil, l.name) })
		require.Panics(l, func() { l.make(l, (*redis.Client)(nil), l.name) })
	}},
	{"a closed client is an error at once", nil, func(l *lab) {
		client := l.second()
		lock := l.make(l, client, l.name, Quiet...)
		require.NoError(l, client.Close())
		for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
			_, err := ask(l.ctx)
			require.ErrorIs(l, err, redis.ErrClosed)
			require.NotErrorIs(l, err, redlatch.ErrNotAcquired)
		}
	}},
	{"waiters of a client that is closed get its error", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		client := l.second()
		asked := l.asks(l.make(l, client, l.name, With(redlatch.WithPoll(100*time.Millisecond))...), l.ctx)
		require.NoError(l, client.Close())
		require.ErrorIs(l, await(l, "the waiter's error", asked).err, redis.ErrClosed)
		l.give(holder)
	}},
	{"what cannot be given back by a closed client says so", nil, func(l *lab) {
		client := l.second()
		hold := l.take(l.make(l, client, l.name, Quiet...), l.ctx)
		ctx := hold.Context(l.ctx)
		require.NoError(l, client.Close())
		err := hold.Unlock(l.ctx)
		require.ErrorIs(l, err, redis.ErrClosed)
		require.NotErrorIs(l, err, redlatch.ErrLost)
		require.NotContains(l, err.Error(), "goes on")
		require.ErrorIs(l, context.Cause(ctx), redlatch.ErrReleased)
		for _, key := range l.left(l.name) { // a reader has keys of its own beside the lock
			require.NoError(l, l.client.Del(l.ctx, key).Err())
		}
	}},
}

var nameCases = []trial{
	{"any name is a name", nil, func(l *lab) {
		for _, name := range []string{
			"{tagged}.rest", "a{b}c", "with spaces and\ttabs", "línea·锁·🔒", "a:b:c", `back\slash "quote"`, "new\nline",
			strings.Repeat("long", 5000), "-", "0", "*", "%s",
		} {
			name += l.name
			lock := l.named(name)
			hold, err := lock.Lock(l.ctx)
			require.NoError(l, err, name)
			_, err = l.has.Blocker(l, l.client, name).TryLock(l.ctx)
			require.ErrorIs(l, err, redlatch.ErrNotAcquired, name)
			require.NoError(l, hold.Unlock(l.ctx), name)
			require.Equal(l, name, lock.Name())
			require.Empty(l, l.left(name))
		}
	}},
	{"names that contain each other are different locks", nil, func(l *lab) {
		first := l.take(l.named(l.name), l.ctx)
		second := l.take(l.has.Blocker(l, l.client, l.name+":1", Quiet...), l.ctx)
		third := l.take(l.has.Blocker(l, l.client, "x"+l.name, Quiet...), l.ctx)
		l.give(first, second, third)
	}},
	{"a name mapper makes the key", nil, func(l *lab) {
		mapper := redlatch.WithNameMapper(func(name string) string { return "app:" + name })
		lock := l.lock(mapper)
		require.Equal(l, l.name, lock.Name())
		hold := l.take(lock, l.ctx)
		for _, key := range l.has.Keys("app:" + l.name) {
			require.EqualValues(l, 1, l.client.Exists(l.ctx, key).Val(), key)
		}
		l.isFree(l.stranger()) // the same name without the mapper is another lock
		l.refused(l.stranger(mapper), l.ctx)
		l.give(hold)
	}},
}
