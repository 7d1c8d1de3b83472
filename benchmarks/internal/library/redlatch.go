package library

import (
	"context"

	"github.com/redis/go-redis/v9"

	front "github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rlock"
)

var redlatch = Library{
	Name: "redlatch", Contends: true, Renews: true,
	Note: "`rlock` with its defaults: reentrant, renewed by a watchdog, waiters woken by pub/sub",
	Open: func(config Config) (Client, error) {
		return &redlatchClient{newGoRedis(config), front.WithWatchdogTimeout(config.Lease)}, nil
	},
}

type redlatchClient struct {
	client *redis.Client
	lease  front.Option
}

func (c *redlatchClient) Handle(key string) (Handle, error) {
	return &redlatchHandle{lock: rlock.New(c.client, key, c.lease)}, nil
}

func (c *redlatchClient) Close() error { return c.client.Close() }

type redlatchHandle struct {
	lock *rlock.Lock
	hold *front.Hold
}

func (h *redlatchHandle) Lock(ctx context.Context) (err error) {
	h.hold, err = h.lock.Lock(ctx)
	return err
}

func (h *redlatchHandle) Unlock(ctx context.Context) error { return h.hold.Unlock(ctx) }
