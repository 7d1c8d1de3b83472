package library

import (
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
	return &lockHandle{lock: rlock.New(c.client, key, c.lease)}, nil
}

func (c *redlatchClient) Close() error { return c.client.Close() }
