// Nightly-job makes one report a night although every replica of a service starts the job.
//
//	go run ./examples/nightly-job
//
// A lock alone does not do that: a replica that comes a second later would find it free again, and one that is killed
// may have done anything before. So the job looks for the report first, and writes it in one command that does nothing
// where there is one. The lock saves the others the work; the command makes the result appear once.
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
	"github.com/redlatch/redlatch/examples/internal/notice"
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
	report := "example:report:" + night
	// Do waits rather than tries, so that another replica takes over if the one that runs the job dies: when the lock of
	// the dead one runs out, which the watchdog timeout says.
	lock := rlock.New(rdb, "example:nightly-job", redlatch.WithWatchdogTimeout(3*time.Second))
	waited := notice.Lock(fmt.Sprintf("replica %d", replica), lock)
	defer waited()
	err := lock.Do(ctx, func(ctx context.Context) error {
		waited()
		switch err := rdb.Get(ctx, report).Err(); {
		case err == nil:
			fmt.Printf("replica %d: the report of %s is there already\n", replica, night)
			return nil
		case !errors.Is(err, redis.Nil):
			return err
		}
		fmt.Printf("replica %d: makes the report of %s\n", replica, night)
		text, err := makeReport(ctx)
		if err != nil {
			return err
		}
		switch first, err := rdb.SetNX(ctx, report, text, time.Hour).Result(); {
		case err != nil:
			return err
		case first:
			fmt.Printf("replica %d: the report is there now\n", replica)
		default: // after the loss of the lock, which the context could not tell in time
			fmt.Printf("replica %d: another replica was faster, so the report is there already\n", replica)
		}
		return nil
	})
	if errors.Is(err, redlatch.ErrLost) {
		return fmt.Errorf("replica %d: lost the lock while it worked; another one makes the report: %w", replica, err)
	}
	return err
}

// makeReport stops when its context ends, for then another replica may have begun.
func makeReport(ctx context.Context) (string, error) {
	select {
	case <-time.After(300 * time.Millisecond):
		return "all is well", nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
