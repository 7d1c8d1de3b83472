package redlatch_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// timeouts counts the commands to which no answer came in time.
type timeouts struct{ n atomic.Int32 }

func (c *timeouts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *timeouts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		c.count(1, err)
		return err
	}
}

func (c *timeouts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		c.count(len(cmds), err)
		return err
	}
}

func (c *timeouts) count(n int, err error) {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.n.Add(int32(n))
	}
}

// What a send may have acquired that nobody answered is not trusted any more when the server comes back, so late. Whoever
// waits sits the outage out nevertheless, and acquires anew.
func TestAnOutageLongerThanTheLeaseEndsNoWait(t *testing.T) {
	srv := redistest.Process(t)
	rdb := srv.Client(t, func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond })
	ctx := t.Context()
	const lease = 2 * time.Second
	waits := map[string]func() error{}
	for what, lock := range map[string]redlatch.Locker{
		"rlock": rlock.New(rdb, "rlock"), "spinlock": spinlock.New(rdb, "spin"), "fairlock": fairlock.New(rdb, "fair"),
		"fencedlock": fencedlock.New(rdb, "fenced"), "reader": rwlock.New(rdb, "read").Reader(),
		"writer": rwlock.New(rdb, "write").Writer(), "group": multilock.NewGroup(rdb, "group", []string{"a", "b"}),
		"multilock": multilock.New(rlock.New(rdb, "multi a"), rlock.New(rdb, "multi b")),
	} {
		waits[what] = func() error {
			hold, err := lock.Lock(ctx, redlatch.WithLease(lease))
			if err != nil {
				return err
			}
			return hold.Unlock(ctx)
		}
	}
	permits := permitsemaphore.New(rdb, "permits")
	_, err := permits.TrySetPermits(ctx, 1)
	require.NoError(t, err)
	waits["permit"] = func() error {
		permit, err := permits.Acquire(ctx, 1, redlatch.WithLease(lease))
		if err != nil {
			return err
		}
		return permit.Release(ctx)
	}
	for what, wait := range waits { // the connections are made, and the server knows the scripts
		require.NoError(t, wait(), what)
	}

	var unanswered timeouts
	rdb.AddHook(&unanswered)
	srv.Stop()
	ended := map[string]chan error{}
	for what, wait := range waits {
		done := make(chan error, 1)
		ended[what] = done
		go func() { done <- wait() }()
	}
	await(t, "a send of each that nobody answers", func() bool { return int(unanswered.n.Load()) >= len(waits) })
	time.Sleep(lease)
	srv.Continue()
	for what, done := range ended {
		require.NoError(t, <-done, what)
	}
}
