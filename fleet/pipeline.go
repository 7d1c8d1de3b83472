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

// atOnce is how many items one pipeline is about. Their answers come together, and others are served in
// between.
const atOnce = 250

// ask has commands added for each item, and sends them. Every command has its own outcome afterwards, which
// may be an error of the server. ask fails where a command was not answered, and where a server refuses all
// of them. The commands have no outcome then, and those of items that it did not come to are not even made.
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
	if err == nil {
		return nil
	}
	if !slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Err() != nil }) {
		return failed(err) // the server has refused the connection, and go-redis leaves the commands as if they were answered
	}
	if i := slices.IndexFunc(cmds, lost); i >= 0 {
		return failed(cmds[i].Err())
	}
	if !slices.ContainsFunc(cmds, served) {
		return failed(err)
	}
	return nil
}

// lost tells whether no server has answered a command. The connection may have broken behind the answer to
// another one.
func lost(cmd redis.Cmder) bool {
	var reply redis.Error
	return cmd.Err() != nil && !errors.As(cmd.Err(), &reply)
}

// down are the beginnings of answers with which a server refuses every command.
var down = []string{"NOAUTH", "WRONGPASS", "LOADING", "MASTERDOWN", "CLUSTERDOWN"}

// served tells whether a server has looked at a command that was answered, be it to refuse this one.
func served(cmd redis.Cmder) bool {
	err := cmd.Err()
	return err == nil || !slices.ContainsFunc(down,
		func(begin string) bool { return strings.HasPrefix(err.Error(), begin) })
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

// everywhere calls fn for each master, one at a time, or with the client itself where there is one server. It
// stops at the first error.
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
