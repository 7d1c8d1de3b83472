package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/outcome"
)

// atOnce is how many items one pipeline is about. Their answers come together, and others are served in between.
const atOnce = 250

// ask has commands added for each item, and sends them. Every command has its own outcome afterwards, which may be an error of
// the server. ask fails where no command of a pipeline was answered, for then there is no server.
func ask[T any](ctx context.Context, client sender, items []T, add func(pipe redis.Pipeliner, item T)) error {
	for some := range slices.Chunk(items, atOnce) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("redlatch: %w", err)
		}
		pipe := client.Pipeline()
		for _, item := range some {
			add(pipe, item)
		}
		if err := exec(ctx, pipe); err != nil {
			return err
		}
	}
	return nil
}

// A sender is what is asked: a client, or one server of a cluster.
type sender interface{ Pipeline() redis.Pipeliner }

// exec sends a pipeline.
func exec(ctx context.Context, pipe redis.Pipeliner) error {
	if pipe.Len() == 0 {
		return nil
	}
	cmds, err := pipe.Exec(ctx)
	switch {
	case err == nil:
		return nil
	case !slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Err() != nil }):
		return failed(err) // the server has refused the connection, and go-redis leaves the commands as if they were answered
	case slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return answered(cmd.Err()) }):
		return nil
	}
	return failed(err)
}

// down are the beginnings of answers with which a server refuses every command.
var down = []string{"NOAUTH", "WRONGPASS", "LOADING", "MASTERDOWN", "CLUSTERDOWN"}

// answered tells whether a server has answered a command, be it by an error.
func answered(err error) bool {
	var reply redis.Error
	if err == nil || !errors.As(err, &reply) {
		return err == nil
	}
	return !slices.ContainsFunc(down, func(begin string) bool { return strings.HasPrefix(reply.Error(), begin) })
}

// failed is an error of the server or the network as a program gets it.
func failed(err error) error {
	return fmt.Errorf("redlatch: fleet: %w", outcome.Advise(delivery.Unavailable(err)))
}

// refused is what the server has answered to a command without which nothing can be done.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redlatch: fleet: %w", err)
}

// masters is what only a cluster client has.
type masters interface {
	ForEachMaster(ctx context.Context, fn func(ctx context.Context, master *redis.Client) error) error
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
}

// everywhere calls fn for each master, one at a time, or with the client itself where there is one server. It stops at the first error.
func everywhere(ctx context.Context, client redlatch.Client, fn func(ctx context.Context, node sender) error) error {
	cluster, ok := client.(masters)
	if !ok {
		return fn(ctx, client)
	}
	var mu sync.Mutex
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		return fn(ctx, master)
	})
	if err != nil && !strings.HasPrefix(err.Error(), "redlatch: ") { // the topology cannot be had
		err = failed(err)
	}
	return err
}
