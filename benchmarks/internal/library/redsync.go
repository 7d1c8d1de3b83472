package library

import (
	"context"
	"errors"
	"math"
	"time"

	redsyncer "github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var redsync = Library{
	Name: "redsync", Contends: true, Sends: []string{"set"},
	Note: "`go-redsync/redsync` on one server. Its waiters poll; here at the same interval as redislock's, and without end, " +
		"for its own 50 to 250 ms and 32 tries give up under load. It does not renew",
	Open: func(config Config) (Client, error) {
		client := newGoRedis(config)
		return &redsyncClient{config: config, client: client, sync: redsyncer.New(goredis.NewPool(client))}, nil
	},
}

type redsyncClient struct {
	config Config
	client *redis.Client
	sync   *redsyncer.Redsync
}

func (c *redsyncClient) Handle(key string) (Handle, error) {
	return &redsyncHandle{c.sync.NewMutex(key,
		redsyncer.WithExpiry(c.config.Lease),
		redsyncer.WithTries(math.MaxInt),
		redsyncer.WithRetryDelayFunc(func(int) time.Duration { return c.config.Poll }),
	)}, nil
}

func (c *redsyncClient) Close() error { return c.client.Close() }

type redsyncHandle struct{ mutex *redsyncer.Mutex }

func (h *redsyncHandle) Lock(ctx context.Context) error { return h.mutex.LockContext(ctx) }

func (h *redsyncHandle) Unlock(ctx context.Context) error {
	held, err := h.mutex.UnlockContext(ctx)
	if err == nil && !held {
		err = errors.New("redsync: the key was not held any more")
	}
	return err
}
