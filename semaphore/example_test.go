package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/semaphore"
)

// Three workers may crawl at the same time, whichever processes they belong to.
func Example() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()

	pool := semaphore.New(rdb, "crawler", semaphore.WithPermits(3)) // set up by whichever process comes first
	var (
		work    sync.WaitGroup
		pages   atomic.Int64
		running atomic.Int64
	)
	for range 10 {
		work.Go(func() {
			err := pool.Do(ctx, 1, func(context.Context) error {
				if running.Add(1) > 3 {
					return errors.New("too many at once")
				}
				defer running.Add(-1)
				pages.Add(1)
				return nil
			})
			if err != nil {
				fmt.Println(err)
			}
		})
	}
	work.Wait()
	fmt.Println(pages.Load(), "pages")
	// Output: 10 pages
}

func ExampleNew() {
	rdb, stop := start()
	defer stop()

	pool := semaphore.New(rdb, "crawler", redlatch.WithWait(10*time.Second)) // no I/O, nothing to close
	fmt.Println(pool.Name())
	// Output: crawler
}

// The first Acquire sets up the semaphore, and sets it up again when Redis has lost it.
func ExampleWithPermits() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler", semaphore.WithPermits(3))

	fmt.Println(pool.Acquire(ctx, 1))
	fmt.Println(pool.AvailablePermits(ctx))
	fmt.Println(pool.Release(ctx, 1))
	rdb.FlushAll(ctx)
	fmt.Println(pool.Acquire(ctx, 3))
	fmt.Println(errors.Is(pool.Acquire(ctx, 4), redlatch.ErrInvalid)) // it would wait for ever
	// Output:
	// <nil>
	// 2 <nil>
	// <nil>
	// <nil>
	// true
}

func ExampleSemaphore_Name() {
	rdb, stop := start()
	defer stop()

	fmt.Println(semaphore.New(rdb, "crawler").Name())
	// Output: crawler
}

func ExampleSemaphore_Acquire() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3)

	if err := pool.Acquire(ctx, 2); err != nil {
		fmt.Println(err)
		return
	}
	err := pool.Acquire(ctx, 2, redlatch.WithWait(200*time.Millisecond))
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired), errors.Is(err, context.DeadlineExceeded))
	// Output: true true
}

func ExampleSemaphore_TryAcquire() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3)

	fmt.Println(pool.TryAcquire(ctx, 2))
	err := pool.TryAcquire(ctx, 2)
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
	fmt.Println(err)
	// Output:
	// <nil>
	// true
	// redlatch: not acquired: semaphore "crawler" has 1 permit left, and 2 are wanted
}

// Release works on a context that has been cancelled, so it can be deferred.
func ExampleSemaphore_Release() {
	rdb, stop := start()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3)
	if err := pool.Acquire(ctx, 1); err != nil {
		fmt.Println(err)
		return
	}

	cancel()
	fmt.Println(pool.Release(ctx, 1))
	fmt.Println(pool.AvailablePermits(context.Background()))
	// Output:
	// <nil>
	// 3 <nil>
}

func ExampleSemaphore_ReleaseIfExists() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")

	fmt.Println(pool.ReleaseIfExists(ctx, 1)) // somebody has deleted it meanwhile
	fmt.Println(pool.AvailablePermits(ctx))
	// Output:
	// false <nil>
	// 0 <nil>
}

func ExampleSemaphore_Do() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3)

	err := pool.Do(ctx, 2, func(ctx context.Context) error {
		left, err := pool.AvailablePermits(ctx)
		fmt.Println("left:", left)
		return err
	})
	left, _ := pool.AvailablePermits(ctx)
	fmt.Println("after:", left, err)
	// Output:
	// left: 1
	// after: 3 <nil>
}

// The first process to come sets the number; the others find it set. Every later operation keeps the TTL.
func ExampleSemaphore_TrySetPermits() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")

	fmt.Println(pool.TrySetPermits(ctx, 3, redlatch.WithTTL(24*time.Hour)))
	fmt.Println(pool.TrySetPermits(ctx, 5))
	fmt.Println(pool.AvailablePermits(ctx))
	// Output:
	// true <nil>
	// false <nil>
	// 3 <nil>
}

// The limit is changed while permits are in use. Below zero, that many have to come back first.
func ExampleSemaphore_AddPermits() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3)
	_ = pool.Acquire(ctx, 2)

	fmt.Println(pool.AddPermits(ctx, 5))
	fmt.Println(pool.AddPermits(ctx, -8))
	// Output:
	// 6 <nil>
	// -2 <nil>
}

// Nobody starts anything new from here on.
func ExampleSemaphore_DrainPermits() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3)

	fmt.Println(pool.DrainPermits(ctx))
	fmt.Println(errors.Is(pool.TryAcquire(ctx, 1), redlatch.ErrNotAcquired))
	// Output:
	// 3 <nil>
	// true
}

func ExampleSemaphore_AvailablePermits() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")

	fmt.Println(pool.AvailablePermits(ctx)) // never set up
	_, _ = pool.TrySetPermits(ctx, 3)
	fmt.Println(pool.AvailablePermits(ctx))
	// Output:
	// 0 <nil>
	// 3 <nil>
}

func ExampleSemaphore_Delete() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3)

	fmt.Println(pool.Delete(ctx))
	fmt.Println(pool.Delete(ctx))
	// Output:
	// true <nil>
	// false <nil>
}

func ExampleSemaphore_Expire() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3)

	fmt.Println(pool.Expire(ctx, time.Hour))
	fmt.Println(rdb.TTL(ctx, "crawler").Val())
	// Output:
	// true <nil>
	// 1h0m0s
}

func ExampleSemaphore_Persist() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	pool := semaphore.New(rdb, "crawler")
	_, _ = pool.TrySetPermits(ctx, 3, redlatch.WithTTL(time.Hour))

	fmt.Println(pool.Persist(ctx))
	fmt.Println(pool.Persist(ctx)) // it had none
	// Output:
	// true <nil>
	// false <nil>
}
