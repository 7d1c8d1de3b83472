// Crawler fetches pages from several processes, never more than three at a time from one site.
//
//	go run ./examples/crawler
//
// The permits have leases and are renewed while their process lives. One of the processes here dies with a permit in
// its hand, and the permit comes back. So do those of the whole example if it is killed: the next one joins the same
// semaphore, and waits for them.
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
	"github.com/redlatch/redlatch/examples/internal/notice"
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
	if err := check(ctx, open(server.Client())); err != nil {
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
	permits := open(server.Client())
	waited := waiting("the crawler", permits, limit)
	all, err := permits.Acquire(ctx, limit)
	waited()
	if err != nil {
		return err
	}
	fmt.Printf("all %d permits are free again, that of the dead process too\n", limit)
	return all.Release(ctx)
}

// open makes the semaphore of one process. The first process to come sets it up. Permits of a process that
// was killed come back after three seconds.
func open(rdb *redis.Client) *permitsemaphore.Semaphore {
	return permitsemaphore.New(rdb, site, permitsemaphore.WithPermits(limit), redlatch.WithTTL(time.Hour), redlatch.WithWatchdogTimeout(3*time.Second))
}

// check is for a semaphore that an earlier run has left: it has the limit that this one counts on, and must
// not end under it.
func check(ctx context.Context, permits *permitsemaphore.Semaphore) error {
	total, err := permits.TotalPermits(ctx)
	if err != nil {
		return err
	}
	if total != limit {
		return fmt.Errorf("%s is set to %d permits, not %d", site, total, limit)
	}
	_, err = permits.Expire(ctx, time.Hour)
	return err
}

// waiting says how many permits there are while n are waited for.
func waiting(who string, permits *permitsemaphore.Semaphore, n int) (done func()) {
	return notice.While(who, func(ctx context.Context) string {
		free, err := permits.AvailablePermits(ctx)
		if err != nil {
			return fmt.Sprintf("permits, of which nothing is known: %v", err)
		}
		return fmt.Sprintf("%d of the %d permits (free: %d, the others are in use or those of a dead process)", n, limit, free)
	})
}

// die takes a permit and is never heard of again: its client is closed, so nothing renews the permit.
func die(ctx context.Context, server *connect.Server) (err error) {
	rdb := server.Client()
	permits := permitsemaphore.New(rdb, site, permitsemaphore.WithPermits(limit), redlatch.WithTTL(time.Hour), redlatch.WithWatchdogTimeout(time.Second))
	waited := waiting("the process that will die", permits, 1)
	grave, err = permits.Acquire(ctx, 1)
	waited()
	if err != nil {
		return err
	}
	fmt.Printf("a process dies with permit %s\n", grave.IDs()[0])
	return rdb.Close()
}

func crawl(ctx context.Context, rdb *redis.Client, process int) error {
	permits := open(rdb)
	for page := range 5 {
		waited := waiting(fmt.Sprintf("process %d", process), permits, 1)
		err := permits.Do(ctx, 1, func(ctx context.Context) error {
			waited()
			now := fetching.Add(1)
			defer fetching.Add(-1)
			if now > limit {
				return fmt.Errorf("%d fetch at once, only %d may", now, limit)
			}
			fmt.Printf("process %d fetches page %d, as one of %d\n", process, page, now)
			return fetch(ctx)
		})
		waited()
		if err != nil {
			return err
		}
	}
	return nil
}

// fetch stops when its context ends, for then another process may have its permit.
func fetch(ctx context.Context) error {
	select {
	case <-time.After(20*time.Millisecond + rand.N(100*time.Millisecond)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
