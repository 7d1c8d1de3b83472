// Nightly-job runs a job once although every replica of a service starts it.
//
//	go run ./examples/nightly-job
//
// A lock alone does not do that: a replica that comes a second later would find it free again. So the job leaves a
// mark, in the place where its result is, and whoever has the lock looks for the mark first.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/examples/internal/connect"
	"github.com/redlatch/redlatch/rlock"
)

func main() {
	server := connect.Open()
	defer server.Close()
	night := time.Now().Format(time.DateOnly)

	var replicas errgroup.Group
	for replica := range 5 {
		rdb := server.Client()
		replicas.Go(func() error { return run(context.Background(), rdb, replica, night) })
	}
	if err := replicas.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run is what each replica does at three in the morning.
func run(ctx context.Context, rdb *redis.Client, replica int, night string) error {
	mark := "example:report:" + night
	// Do waits rather than tries, so that another replica takes over if the one that runs the job dies.
	lock := rlock.New(rdb, "example:nightly-job")
	err := lock.Do(ctx, func(ctx context.Context) error {
		switch err := rdb.Get(ctx, mark).Err(); {
		case err == nil:
			fmt.Printf("replica %d: the report of %s is there already\n", replica, night)
			return nil
		case !errors.Is(err, redis.Nil):
			return err
		}
		fmt.Printf("replica %d: writes the report of %s\n", replica, night)
		if err := writeReport(ctx); err != nil {
			return err
		}
		return rdb.Set(ctx, mark, "written", time.Hour).Err()
	})
	if errors.Is(err, redlatch.ErrLost) {
		return fmt.Errorf("replica %d: lost the lock while it worked; the report may be written twice: %w", replica, err)
	}
	return err
}

// writeReport stops when its context ends, for then somebody else may have begun.
func writeReport(ctx context.Context) error {
	select {
	case <-time.After(300 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
