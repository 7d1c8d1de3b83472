// Start-barrier lets workers begin together, and waits until all are done.
//
//	go run ./examples/start-barrier
//
// Two latches: one that the coordinator opens when every worker stands ready, one that the workers count down.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/examples/internal/connect"
)

const workers = 4

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	server := connect.Open()
	defer server.Close()

	rdb := server.Client()
	for name, count := range map[string]int64{"example:ready": workers, "example:start": 1, "example:done": workers} {
		// The TTL is for the day on which a worker dies and never counts: then the latch opens by itself.
		if _, err := countdownlatch.New(rdb, name).TrySetCount(ctx, count, redlatch.WithTTL(time.Minute)); err != nil {
			return err
		}
	}

	group, ctx := errgroup.WithContext(ctx)
	for worker := range workers {
		rdb := server.Client()
		group.Go(func() error { return work(ctx, rdb, worker) })
	}
	group.Go(func() error {
		if err := countdownlatch.New(rdb, "example:ready").Await(ctx); err != nil {
			return err
		}
		fmt.Println("all are ready: go")
		return countdownlatch.New(rdb, "example:start").CountDown(ctx)
	})
	if err := countdownlatch.New(rdb, "example:done").Await(ctx); err != nil {
		return err
	}
	fmt.Println("all are done")
	return group.Wait()
}

func work(ctx context.Context, rdb *redis.Client, worker int) error {
	time.Sleep(time.Duration(worker) * 50 * time.Millisecond) // some take longer to get ready
	fmt.Printf("worker %d is ready\n", worker)
	if err := countdownlatch.New(rdb, "example:ready").CountDown(ctx); err != nil {
		return err
	}
	if err := countdownlatch.New(rdb, "example:start").Await(ctx); err != nil {
		return err
	}
	fmt.Printf("worker %d runs\n", worker)
	return countdownlatch.New(rdb, "example:done").CountDown(ctx)
}
