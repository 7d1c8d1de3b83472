package library

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

var bareGoRedis = Library{
	Name: OwnKeyFloor,
	Note: "bare go-redis: one EVALSHA with redlatch's acquire script, one with its release script, each on a connection of " +
		"the pool: no lock, the reference for own keys",
	Open: func(config Config) (Client, error) {
		client := newGoRedis(config)
		return newBare(client, client, config)
	},
}

var autoPipeline = Library{
	Name: "go-redis AutoPipeline",
	Note: "the same commands through the experimental `AutoPipeline` of go-redis: no lock, a reference. It ignores contexts",
	Open: func(config Config) (Client, error) {
		client := newGoRedis(config)
		pipeliner, err := client.AutoPipeline()
		if err != nil {
			return nil, errors.Join(err, client.Close())
		}
		return newBare(client, pipeliner, config)
	},
}

// errGone is the answer of a release that found nothing to release.
var errGone = errors.New("the key was not held any more")

// A bare client sends the two scripts and nothing else.
type bare struct {
	client           *redis.Client
	sender           redis.Scripter // client itself, or its AutoPipeline
	acquire, release string         // hashes
	lease            int64          // milliseconds
}

func newBare(client *redis.Client, sender redis.Scripter, config Config) (Client, error) {
	acquire, release, err := load(client)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &bare{client, sender, acquire, release, config.Lease.Milliseconds()}, nil
}

func (b *bare) Handle(key string) (Handle, error) { return b.handle(key), nil }

func (b *bare) handle(key string) *bareHandle {
	return &bareHandle{bare: b, keys: []string{key}, owner: owner(), channel: wakeChannel(key)}
}

// Close ends the AutoPipeline with its client.
func (b *bare) Close() error { return b.client.Close() }

type bareHandle struct {
	bare           *bare
	keys           []string
	owner, channel string
}

func (h *bareHandle) Lock(ctx context.Context) error {
	answer, err := h.try(ctx)
	if err == nil && answer != taken {
		err = errTaken
	}
	return err
}

// try answers taken, or the milliseconds that the holder's lease still lasts.
func (h *bareHandle) try(ctx context.Context) (int64, error) {
	return h.bare.sender.EvalSha(ctx, h.bare.acquire, h.keys, h.owner, h.bare.lease).Int64()
}

func (h *bareHandle) Unlock(ctx context.Context) error {
	answer, err := h.bare.sender.EvalSha(ctx, h.bare.release, h.keys, h.owner, "PUBLISH", h.channel).Int64()
	if err == nil && answer != 1 {
		err = errGone
	}
	return err
}

func wakeChannel(key string) string { return "wake:" + key }
