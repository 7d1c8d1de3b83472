// Crawler fetches pages from several processes, never more than three at a time from one site.
//
//	go run ./examples/crawler
//
// The permits have leases and are renewed while their process lives. One of the processes here dies with a permit in
// its hand, and the permit comes back.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/examples/internal/connect"
	"github.com/redlatch/redlatch/permitsemaphore"
)

const (
	site  = "example:site:example.org"
	limit = 3
)

var (
	fetching atomic.Int64            // how many are at it now, over all processes of this example
	grave    *permitsemaphore.Permit // of the process that dies
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	server := connect.Open()
	defer server.Close()
	if _, err := permitsemaphore.New(server.Client(), site).TrySetPermits(ctx, limit); err != nil {
		return err
	}
	if err := die(ctx, server); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for process := range 4 {
		rdb := server.Client()
		group.Go(func() error { return crawl(groupCtx, rdb, process) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// All of them can be had again, at the latest when the dead process's lease is over.
	all, err := permitsemaphore.New(server.Client(), site).Acquire(ctx, limit)
	if err != nil {
		return err
	}
	fmt.Printf("all %d permits are free again, that of the dead process too\n", limit)
	return all.Release(ctx)
}

// die takes a permit and is never heard of again: its client is closed, so nothing renews the permit.
func die(ctx context.Context, server *connect.Server) (err error) {
	rdb := server.Client()
	grave, err = permitsemaphore.New(rdb, site, redlatch.WithWatchdogTimeout(time.Second)).Acquire(ctx, 1)
	if err != nil {
		return err
	}
	fmt.Printf("a process dies with permit %s\n", grave.ID())
	return rdb.Close()
}

func crawl(ctx context.Context, rdb *redis.Client, process int) error {
	permits := permitsemaphore.New(rdb, site)
	for page := range 5 {
		err := permits.Do(ctx, 1, func(ctx context.Context) error {
			now := fetching.Add(1)
			defer fetching.Add(-1)
			if now > limit {
				return fmt.Errorf("%d fetch at once, only %d may", now, limit)
			}
			fmt.Printf("process %d fetches page %d, as one of %d\n", process, page, now)
			return fetch(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fetch stops when its context ends, for then its permit may be somebody else's.
func fetch(ctx context.Context) error {
	select {
	case <-time.After(20*time.Millisecond + rand.N(100*time.Millisecond)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
