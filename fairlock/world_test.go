package fairlock_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/proxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A world is a miniredis on fake time with clients that each stand for a process.
type world struct {
	*testing.T
	mini    *miniredis.Miniredis
	clients []*redis.Client
	scripts redistest.Sent // by all processes

	mu    sync.Mutex
	order []string // who was served
}

const name = "fair"

func bubble(t *testing.T, processes int, run func(w *world)) {
	redistest.Bubble(t, func(t *testing.T) {
		mini, client := redistest.InMemory(t)
		w := &world{T: t, mini: mini, clients: []*redis.Client{client}}
		for len(w.clients) < processes {
			client := redis.NewClient(redistest.InMemoryOptions(mini))
			t.Cleanup(func() { _ = client.Close() })
			w.clients = append(w.clients, client)
		}
		for _, client := range w.clients {
			client.AddHook(&w.scripts)
		}
		run(w)
	})
}

// proxied adds a process to the world. Its connections go through the proxy that is returned.
func (w *world) proxied() *proxy.Proxy {
	options := redistest.InMemoryOptions(w.mini)
	p := proxy.New(func() (net.Conn, error) { return options.Dialer(context.Background(), "", "") })
	w.Cleanup(func() { _ = p.Close() })
	behind := redistest.InMemoryOptions(w.mini)
	behind.Dialer = func(context.Context, string, string) (net.Conn, error) { return p.Dial() }
	client := redis.NewClient(behind)
	w.Cleanup(func() { _ = client.Close() })
	client.AddHook(&w.scripts)
	w.clients = append(w.clients, client)
	return p
}

func (w *world) lock(process int, opts ...redlatch.Option) *fairlock.Lock {
	return fairlock.New(w.clients[process], name, append([]redlatch.Option{briefly.Linger(0)}, opts...)...)
}

// stands starts a wait and returns when it stands in the queue.
func (w *world) stands(process int, who string, opts ...redlatch.Option) (done chan error) {
	done = make(chan error, 1)
	go func() {
		done <- w.lock(process, opts...).Do(w.Context(), func(context.Context) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.order = append(w.order, who)
			return nil
		})
	}()
	time.Sleep(3 * time.Millisecond) // on fake time; waiters that come together share a command
	synctest.Wait()
	return done
}

func (w *world) served() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.order
}

// redisson puts a waiter of Redisson's into the queue, as its script does.
func (w *world) redisson(owner string, patience time.Duration) {
	ctx, client := w.Context(), w.clients[0]
	deadline := time.Now().Add(max(w.mini.TTL(name), 0))
	if last, err := client.LIndex(ctx, keys.FairQueue(name), -1).Result(); err == nil {
		deadline = time.UnixMilli(int64(client.ZScore(ctx, keys.FairTimeouts(name), last).Val()))
	}
	score := float64(deadline.Add(patience).UnixMilli())
	require.NoError(w, client.ZAdd(ctx, keys.FairTimeouts(name), redis.Z{Member: owner, Score: score}).Err())
	require.NoError(w, client.RPush(ctx, keys.FairQueue(name), owner).Err())
}

// sweep removes stale heads as every script of Redisson's does.
func (w *world) sweep() {
	ctx, client := w.Context(), w.clients[0]
	for {
		head, err := client.LIndex(ctx, keys.FairQueue(name), 0).Result()
		if err != nil {
			return
		}
		score, err := client.ZScore(ctx, keys.FairTimeouts(name), head).Result()
		if err != nil || int64(score) > time.Now().UnixMilli() {
			return
		}
		client.ZRem(ctx, keys.FairTimeouts(name), head)
		client.LPop(ctx, keys.FairQueue(name))
	}
}

// redissonTakes is what Redisson's acquisition does, for an owner that is next.
func (w *world) redissonTakes(owner string, patience time.Duration) {
	ctx, client := w.Context(), w.clients[0]
	w.sweep()
	require.Equal(w, owner, client.LPop(ctx, keys.FairQueue(name)).Val())
	client.ZRem(ctx, keys.FairTimeouts(name), owner)
	for _, member := range client.ZRange(ctx, keys.FairTimeouts(name), 0, -1).Val() {
		client.ZIncrBy(ctx, keys.FairTimeouts(name), -float64(patience.Milliseconds()), member)
	}
	client.HSet(ctx, name, owner, 1)
	client.PExpire(ctx, name, 30*time.Second)
}

const redissonPatience = 5 * time.Minute
