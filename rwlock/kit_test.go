package rwlock_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

// A kit is a server and the processes that share a lock on it.
type kit struct {
	*testing.T
	ctx    context.Context
	client *redis.Client
	srv    *redistest.Server    // nil on fake time
	mini   *miniredis.Miniredis // on fake time
	name   string

	mu    sync.Mutex
	holds []*redlatch.Hold
}

// fakeTime runs a test in a bubble, where exact times can be asserted.
func fakeTime(t *testing.T, run func(k *kit)) {
	redistest.Bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		mini, client := redistest.InMemory(t)
		k := &kit{T: t, ctx: ctx, client: client, mini: mini, name: "rw"}
		run(k)
		k.finish()
	})
}

// realTime runs a test on miniredis and on a server.
func realTime(t *testing.T, run func(k *kit)) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		k := &kit{T: t, ctx: ctx, client: srv.Client(t), srv: srv, name: srv.Key(t, "rw")}
		run(k)
		k.finish()
	})
}

// process makes the lock of a process of its own.
func (k *kit) process(opts ...redlatch.Option) *rwlock.Lock {
	k.Helper()
	var client *redis.Client
	if k.srv != nil {
		client = k.srv.Client(k)
	} else {
		client = redis.NewClient(redistest.InMemoryOptions(k.mini))
		k.Cleanup(func() { _ = client.Close() })
	}
	return k.over(client, opts...)
}

// over is the lock of the process that has the client.
func (k *kit) over(client *redis.Client, opts ...redlatch.Option) *rwlock.Lock {
	return rwlock.New(client, k.name, append([]redlatch.Option{
		briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)),
	}, opts...)...)
}

type lockFunc = func(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error)

// take acquires, and keeps the hold from the garbage collector, which lives outside of the bubble.
func (k *kit) take(lock lockFunc, ctx context.Context, opts ...redlatch.Option) *redlatch.Hold {
	k.Helper()
	hold, err := lock(ctx, opts...)
	require.NoError(k, err)
	k.keep(hold)
	return hold
}

func (k *kit) keep(hold *redlatch.Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holds = append(k.holds, hold)
}

func (k *kit) give(holds ...*redlatch.Hold) {
	k.Helper()
	for _, h := range holds {
		require.NoError(k, h.Unlock(k.ctx))
	}
}

// A grant is the outcome of a wait.
type grant struct {
	hold *redlatch.Hold
	err  error
	at   time.Time
}

func (k *kit) asks(lock lockFunc, ctx context.Context, opts ...redlatch.Option) <-chan grant {
	got := make(chan grant, 1)
	go func() {
		hold, err := lock(ctx, opts...)
		if hold != nil {
			k.keep(hold)
		}
		got <- grant{hold, err, time.Now()}
	}()
	return got
}

// free requires that the lock can be had now.
func (k *kit) free(lock lockFunc) {
	k.Helper()
	hold, err := lock(k.ctx)
	require.NoError(k, err)
	require.NoError(k, hold.Unlock(k.ctx))
}

// taken requires that it cannot.
func (k *kit) taken(lock lockFunc) {
	k.Helper()
	_, err := lock(k.ctx)
	require.ErrorIs(k, err, redlatch.ErrNotAcquired)
}

// waits requires that nobody has answered yet, on fake time, where everything that can happen has.
func (k *kit) waits(asked ...<-chan grant) {
	k.Helper()
	synctest.Wait()
	for i, a := range asked {
		select {
		case got := <-a:
			k.Fatalf("waiter %d does not wait any more: %v", i, got.err)
		default:
		}
	}
}

// served requires an answer at this very moment of fake time.
func (k *kit) served(asked <-chan grant) *redlatch.Hold {
	k.Helper()
	synctest.Wait()
	select {
	case got := <-asked:
		require.NoError(k, got.err)
		require.Zero(k, time.Since(got.at), "served before now")
		return got.hold
	default:
		k.Fatal("not served now")
		return nil
	}
}

func (k *kit) finish() {
	k.Helper()
	for _, h := range k.holds {
		if err := h.Unlock(k.ctx); err != nil && !errors.Is(err, redlatch.ErrReleased) && !errors.Is(err, redlatch.ErrLost) {
			k.Errorf("unlock at the end: %v", err)
		}
	}
}

// fields are the hash as it stands in Redis.
func (k *kit) fields() map[string]string {
	k.Helper()
	fields, err := k.client.HGetAll(context.Background(), k.name).Result()
	require.NoError(k, err)
	return fields
}

func (k *kit) ttl(key string) time.Duration {
	k.Helper()
	ttl, err := k.client.PTTL(context.Background(), key).Result()
	require.NoError(k, err)
	return ttl
}

// marker is the key of one of a reader's markers.
func (k *kit) marker(owner string, i int) string {
	return "{" + k.name + "}:" + owner + ":rwlock_timeout:" + strconv.Itoa(i)
}

// list is the key of the list of our readers.
func (k *kit) list() string { return "redlatch_rwlock_readers:{" + k.name + "}" }

// lose deletes the lock behind everybody's back, without a message. Its markers stay.
func (k *kit) lose() {
	k.Helper()
	require.EqualValues(k, 1, k.client.Del(context.Background(), k.name).Val())
}

func (k *kit) keys() []string {
	k.Helper()
	keys, err := k.client.Keys(context.Background(), "*"+k.name+"*").Result()
	require.NoError(k, err)
	slices.Sort(keys)
	return keys
}
