package library

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
)

var bareRueidis = Library{
	Name: "rueidis",
	Note: "bare `redis/rueidis`, which pipelines by itself, running the same two scripts: no lock, a reference",
	Open: func(config Config) (Client, error) {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{config.Addr}})
		if err != nil {
			return nil, err
		}
		return &rueidisClient{
			client: client, lease: strconv.FormatInt(config.Lease.Milliseconds(), 10),
			acquire: rueidis.NewLuaScript(acquireSource), release: rueidis.NewLuaScript(releaseSource),
		}, nil
	},
}

type rueidisClient struct {
	client           rueidis.Client
	acquire, release *rueidis.Lua
	lease            string
}

func (c *rueidisClient) Handle(key string) (Handle, error) {
	owner := owner()
	return &rueidisHandle{
		client: c, key: []string{key}, take: []string{owner, c.lease}, give: []string{owner, "PUBLISH", wakeChannel(key)},
	}, nil
}

func (c *rueidisClient) Close() error {
	c.client.Close()
	return nil
}

type rueidisHandle struct {
	client          *rueidisClient
	key, take, give []string // made once: the least that a caller can send
}

func (h *rueidisHandle) Lock(ctx context.Context) error {
	answer, err := h.client.acquire.Exec(ctx, h.client.client, h.key, h.take).AsInt64()
	if err == nil && answer != taken {
		err = errTaken
	}
	return err
}

func (h *rueidisHandle) Unlock(ctx context.Context) error {
	answer, err := h.client.release.Exec(ctx, h.client.client, h.key, h.give).AsInt64()
	if err == nil && answer != 1 {
		err = errGone
	}
	return err
}
