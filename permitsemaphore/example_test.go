package permitsemaphore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// server starts a Redis for an example.
func server() (*redis.Client, func()) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	if err := m.Start(); err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: m.Addr()})
	return rdb, func() { _ = rdb.Close(); m.Close() }
}

func Example() {
	rdb, stop := server()
	defer stop()
	ctx := context.Background()

	pool := permitsemaphore.New(rdb, "licences", permitsemaphore.WithPermits(3))
	permit, err := pool.Acquire(ctx, 2)
	if err != nil {
		panic(err)
	}
	free, _ := pool.AvailablePermits(ctx)
	fmt.Println("while two are taken:", free)
	if err := permit.Release(ctx); err != nil {
		panic(err)
	}
	free, _ = pool.AvailablePermits(ctx)
	fmt.Println("afterwards:", free)
	// Output:
	// while two are taken: 1
	// afterwards: 3
}

func ExampleSemaphore_Do() {
	rdb, stop := server()
	defer stop()
	ctx := context.Background()

	pool := permitsemaphore.New(rdb, "licences")
	_, _ = pool.TrySetPermits(ctx, 1)
	err := pool.Do(ctx, 1, func(ctx context.Context) error {
		fmt.Println("the permit is renewed while this runs; lost:", ctx.Err() != nil)
		return nil
	})
	fmt.Println(err)
	// Output:
	// the permit is renewed while this runs; lost: false
	// <nil>
}

// The first Acquire sets up the semaphore. One that is there keeps its number, until that is changed.
func ExampleWithPermits() {
	rdb, stop := server()
	defer stop()
	ctx := context.Background()

	before := permitsemaphore.New(rdb, "licences", permitsemaphore.WithPermits(3))
	permit, err := before.Acquire(ctx, 1)
	if err != nil {
		panic(err)
	}
	defer permit.Release(ctx)
	pool := permitsemaphore.New(rdb, "licences", permitsemaphore.WithPermits(5))
	fmt.Println(pool.TotalPermits(ctx))
	fmt.Println(pool.SetPermits(ctx, 5))
	fmt.Println(pool.AvailablePermits(ctx))
	_, err = pool.Acquire(ctx, 6)
	fmt.Println(errors.Is(err, redlatch.ErrInvalid)) // it would wait for ever
	// Output:
	// 3 <nil>
	// <nil>
	// 4 <nil>
	// true
}

// A permit without expiry is handed to another process by its id.
func ExampleWithoutExpiry() {
	rdb, stop := server()
	defer stop()
	ctx := context.Background()

	pool := permitsemaphore.New(rdb, "licences")
	_, _ = pool.TrySetPermits(ctx, 1)
	permit, err := pool.TryAcquire(ctx, 1, permitsemaphore.WithoutExpiry())
	if err != nil {
		panic(err)
	}
	lasts, err := pool.LeaseTime(ctx, permit.IDs()[0])
	fmt.Println(lasts == permitsemaphore.NoExpiry, err)
	fmt.Println(pool.Release(ctx, permit.IDs()[0])) // by the other process
	// Output:
	// true <nil>
	// <nil>
}

// A permit without expiry can be handed to another process by its id.
func ExampleSemaphore_Release() {
	rdb, stop := server()
	defer stop()
	ctx := context.Background()

	pool := permitsemaphore.New(rdb, "licences")
	_, _ = pool.TrySetPermits(ctx, 1)
	permit, err := pool.TryAcquire(ctx, 1, permitsemaphore.WithoutExpiry())
	if err != nil {
		panic(err)
	}
	id := permit.IDs()[0] // sent to whoever does the work

	fmt.Println(pool.Release(ctx, id))
	fmt.Println(errors.Is(pool.Release(ctx, id), redlatch.ErrNotHeld))
	// Output:
	// <nil>
	// true
}

// Two calls in each second, over all processes: a permit comes back when its lease is over.
func ExamplePermit_Leave() {
	rdb, stop := server()
	defer stop()
	ctx := context.Background()

	calls := permitsemaphore.New(rdb, "calls", permitsemaphore.WithPermits(2), redlatch.WithLease(time.Second))
	for range 3 {
		permit, err := calls.TryAcquire(ctx, 1)
		if errors.Is(err, redlatch.ErrNotAcquired) {
			fmt.Println("not in this second")
			continue
		}
		if err != nil {
			panic(err)
		}
		permit.Leave() // not Release, which would allow another call at once
		fmt.Println("a call; the permit is over here:", errors.Is(permit.Release(ctx), redlatch.ErrReleased))
	}
	// Output:
	// a call; the permit is over here: true
	// a call; the permit is over here: true
	// not in this second
}

// An id is how another process gives a permit back.
func ExamplePermit_IDs() {
	rdb, stop := server()
	defer stop()
	ctx := context.Background()

	pool := permitsemaphore.New(rdb, "licences", permitsemaphore.WithPermits(3))
	permit, err := pool.Acquire(ctx, 2, permitsemaphore.WithoutExpiry())
	if err != nil {
		panic(err)
	}
	ids := permit.IDs() // one for each permit; sent to whoever does the work
	permit.Leave()

	fmt.Println(len(ids))
	fmt.Println(pool.Release(ctx, ids...)) // by that process
	fmt.Println(pool.AvailablePermits(ctx))
	// Output:
	// 2
	// <nil>
	// 3 <nil>
}

func ExamplePermit_UpdateLease() {
	rdb, stop := server()
	defer stop()
	ctx := context.Background()

	pool := permitsemaphore.New(rdb, "licences")
	_, _ = pool.TrySetPermits(ctx, 1)
	permit, err := pool.Acquire(ctx, 1, redlatch.WithLease(time.Minute))
	if err != nil {
		panic(err)
	}
	defer permit.Release(ctx)
	if err := permit.UpdateLease(ctx, time.Hour); err != nil {
		panic(err)
	}
	left, _ := pool.LeaseTime(ctx, permit.IDs()[0])
	fmt.Println(left.Round(time.Minute))
	// Output:
	// 1h0m0s
}
