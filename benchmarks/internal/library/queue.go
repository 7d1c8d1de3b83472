package library

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"
)

// queued is the least that makes a lock for several callers: callers of one process queue in the order of arrival,
// the first of them asks, and one that is refused sleeps until the holder's release is published.
var queued = Library{
	Name: OneKeyFloor, Contends: true,
	Note: "bare go-redis EVALSHA behind a first-in-first-out queue in each process, and a standing subscription that wakes " +
		"its head: the reference for one key. It neither renews nor survives a lost message or reply",
	Open: func(config Config) (Client, error) {
		client := newGoRedis(config)
		b, err := newBare(client, client, config)
		if err != nil {
			return nil, err
		}
		return &queueClient{bare: b.(*bare), queues: map[string]*queue{}}, nil
	},
}

type queueClient struct {
	*bare
	receivers sync.WaitGroup

	mu     sync.Mutex
	queues map[string]*queue
}

// A queue is what the callers of one process share of one key.
type queue struct {
	turn   *semaphore.Weighted // of one: strictly in the order of arrival
	wake   chan struct{}       // holds at most one message, for the caller whose turn it is
	pubsub *redis.PubSub
}

func (c *queueClient) Handle(key string) (Handle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[key]
	if q == nil {
		q = &queue{
			turn: semaphore.NewWeighted(1), wake: make(chan struct{}, 1),
			pubsub: c.client.Subscribe(context.Background(), wakeChannel(key)),
		}
		if _, err := q.pubsub.Receive(context.Background()); err != nil {
			_ = q.pubsub.Close()
			return nil, fmt.Errorf("subscribe: %w", err)
		}
		c.receivers.Go(q.receive)
		c.queues[key] = q
	}
	return &queueHandle{c.handle(key), q}, nil
}

func (q *queue) receive() {
	for {
		if _, err := q.pubsub.Receive(context.Background()); err != nil {
			return // closed, or broken: a reference need not mend itself
		}
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

func (c *queueClient) Close() error {
	for _, q := range c.queues {
		_ = q.pubsub.Close()
	}
	c.receivers.Wait()
	return c.bare.Close()
}

type queueHandle struct {
	*bareHandle
	queue *queue
}

func (h *queueHandle) Lock(ctx context.Context) error {
	if err := h.queue.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	for {
		answer, err := h.try(ctx)
		if err == nil && answer == taken {
			return nil
		}
		if err == nil {
			err = h.await(ctx, time.Duration(max(answer, 1))*time.Millisecond)
		}
		if err != nil {
			h.queue.turn.Release(1)
			return err
		}
	}
}

func (h *queueHandle) await(ctx context.Context, atMost time.Duration) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-h.queue.wake:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (h *queueHandle) Unlock(ctx context.Context) error {
	defer h.queue.turn.Release(1)
	return h.bareHandle.Unlock(ctx)
}
