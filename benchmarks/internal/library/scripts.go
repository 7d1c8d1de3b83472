package library

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/scripts"
	rlockscripts "github.com/redlatch/redlatch/internal/scripts/rlock"
)

// The references run the scripts that redlatch runs, so that what differs is the way to the server and back.
var (
	acquireSource = source(rlockscripts.Acquire("key", "owner", time.Second))
	releaseSource = source(rlockscripts.Release("key", "owner", scripts.Wake{}))
)

// taken is what the acquire script answers when it has taken the key.
const taken = -3

// source reads a script's text from the form of its command that carries it.
func source[R any](command scripts.Command[R]) string {
	return command.Cmder(context.Background(), true).Args()[1].(string)
}

func load(client *redis.Client) (acquire, release string, err error) {
	ctx := context.Background()
	if acquire, err = client.ScriptLoad(ctx, acquireSource).Result(); err != nil {
		return "", "", fmt.Errorf("load the scripts: %w", err)
	}
	release, err = client.ScriptLoad(ctx, releaseSource).Result()
	return acquire, release, err
}

// owner is as long as those of redlatch, for it is on the wire twice per pair.
func owner() string { return "8e5a9b1c-" + rand.Text() + ":1" }
