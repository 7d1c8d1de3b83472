package suite_test

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
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// timeouts counts the commands and pipelines to which no answer came in time.
type timeouts struct{ n atomic.Int32 }

func (c *timeouts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *timeouts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		c.count(err)
		return err
	}
}

func (c *timeouts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		c.count(err)
		return err
	}
}

func (c *timeouts) count(err error) {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.n.Add(1)
	}
}

// What a send may have acquired that nobody answered is not trusted any more when the server comes back, so late. Whoever
// waits sits the outage out nevertheless, and acquires anew.
func TestAnOutageLongerThanTheLeaseEndsNoWait(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	rdb := srv.Client(t, func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond })
	ctx := t.Context()
	const lease = 2 * time.Second
	waits := sections(ctx, rdb, redlatch.WithLease(lease))
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
	goOn := sitOut(t, srv, rdb, waits)
	time.Sleep(lease)
	goOn()
}

// A send that got no answer cannot be sent again where replicas have to acknowledge: the acquisition is made anew.
func TestAnOutageEndsNoWaitForReplicas(t *testing.T) {
	t.Parallel()
	srv, _ := redistest.Replicated(t)
	rdb := srv.Client(t, func(o *redis.Options) { o.ReadTimeout = 4 * time.Second })
	sitOut(t, srv, rdb, sections(t.Context(), rdb, redlatch.WithReplicas(1, 3900*time.Millisecond)))()
}

// lockers are locks of every kind, whose names begin with prefix.
func lockers(rdb redlatch.Client, prefix string) map[string]redlatch.Locker {
	return map[string]redlatch.Locker{
		"rlock": rlock.New(rdb, prefix+"rlock"), "spinlock": spinlock.New(rdb, prefix+"spin"),
		"fairlock": fairlock.New(rdb, prefix+"fair"), "fencedlock": fencedlock.New(rdb, prefix+"fenced"),
		"reader": rwlock.New(rdb, prefix+"read").Reader(), "writer": rwlock.New(rdb, prefix+"write").Writer(),
		"group":     multilock.NewGroup(rdb, prefix+"group", []string{"a", "b"}),
		"multilock": multilock.New([]redlatch.Locker{rlock.New(rdb, prefix+"multi a"), rlock.New(rdb, prefix+"multi b")}),
	}
}

// sections take each kind of lock and give it back.
func sections(ctx context.Context, rdb *redis.Client, opts ...redlatch.Option) map[string]func() error {
	waits := map[string]func() error{}
	for what, lock := range lockers(rdb, "") {
		waits[what] = func() error {
			hold, err := lock.Lock(ctx, opts...)
			if err != nil {
				return err
			}
			return hold.Unlock(ctx)
		}
	}
	return waits
}

// sitOut stops the server under all waits, until each has sent something that nobody answers. The function that it
// returns has the server go on, and requires that they all succeed.
func sitOut(t *testing.T, srv *redistest.Server, rdb *redis.Client, waits map[string]func() error) (goOn func()) {
	t.Helper()
	for what, wait := range waits { // the connections are made, the server knows the scripts, and a replica is there
		await(t, what, func() bool { return wait() == nil })
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
	return func() {
		t.Helper()
		srv.Continue()
		for what, done := range ended {
			require.NoError(t, <-done, what)
		}
	}
}
