// Config-reload changes several keys as one, while many processes read them.
//
//	go run ./examples/config-reload
//
// Readers share; the one who changes the configuration has it alone, and reads it back under the same lock before the
// others come in: a downgrade.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch/examples/internal/connect"
	"github.com/redlatch/redlatch/rwlock"
)

func main() {
	server := connect.Open()
	defer server.Close()

	first := server.Client()
	first.MSet(context.Background(), "example:host", "old", "example:port", "1")

	group, ctx := errgroup.WithContext(context.Background())
	for reader := range 4 {
		rdb := server.Client()
		group.Go(func() error { return read(ctx, rdb, reader) })
	}
	rdb := server.Client()
	group.Go(func() error { return reload(ctx, rdb) })
	if err := group.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// read looks at both keys a few times. They always belong together.
func read(ctx context.Context, rdb *redis.Client, reader int) error {
	lock := rwlock.New(rdb, "example:config").Reader()
	for range 5 {
		hold, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		host, port := rdb.Get(ctx, "example:host").Val(), rdb.Get(ctx, "example:port").Val()
		if err := hold.Unlock(ctx); err != nil {
			return err
		}
		fmt.Printf("reader %d: %s:%s\n", reader, host, port)
		if (host == "new") != (port == "2") {
			return fmt.Errorf("reader %d saw half a change: %s:%s", reader, host, port)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// reload writes both keys, keeps reading what it wrote, and lets the other readers in meanwhile.
func reload(ctx context.Context, rdb *redis.Client) error {
	time.Sleep(30 * time.Millisecond)
	lock := rwlock.New(rdb, "example:config")
	writing, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer writing.Unlock(ctx) // for the errors on the way; at the end it has been given back, and nothing happens
	if err := rdb.Set(ctx, "example:host", "new", time.Hour).Err(); err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond) // nobody sees the state in between
	if err := rdb.Set(ctx, "example:port", "2", time.Hour).Err(); err != nil {
		return err
	}
	reading, err := lock.RLock(writing.Context(ctx))
	if err != nil {
		return err
	}
	defer reading.Unlock(ctx)
	if err := writing.Unlock(ctx); err != nil {
		return err
	}
	fmt.Println("changed to", rdb.Get(ctx, "example:host").Val()+":"+rdb.Get(ctx, "example:port").Val())
	return reading.Unlock(ctx)
}
