package library

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

var redislockLibrary = Library{
	Name: "redislock", Contends: true,
	Note: "`bsm/redislock`. Its waiters poll, every 10 ms unless the run says otherwise: at 1 ms the first one keeps the " +
		"key and the others starve. It does not renew",
	Open: func(config Config) (Client, error) {
		client := newGoRedis(config)
		return &redislockClient{config: config, client: client, locker: redislock.New(client)}, nil
	},
}

type redislockClient struct {
	config Config
	client *redis.Client
	locker *redislock.Client
}

func (c *redislockClient) Handle(key string) (Handle, error) {
	return &redislockHandle{client: c, key: key}, nil
}

func (c *redislockClient) Close() error { return c.client.Close() }

type redislockHandle struct {
	client *redislockClient
	key    string
	held   *redislock.Lock
}

// Lock asks again when redislock gives up: it waits no longer than one lease unless ctx has a deadline.
func (h *redislockHandle) Lock(ctx context.Context) (err error) {
	for {
		h.held, err = h.client.locker.Obtain(ctx, h.key, h.client.config.Lease, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(max(h.client.config.Poll, time.Millisecond)),
		})
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

func (h *redislockHandle) Unlock(ctx context.Context) error { return h.held.Release(ctx) }
