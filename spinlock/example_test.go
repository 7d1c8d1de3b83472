package spinlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/spinlock"
)

var rdb *redis.Client

// connect is the unseen setup of the examples: a Redis of their own.
func connect() func() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return func() {
		_ = rdb.Close()
		server.Close()
	}
}

func Example() {
	defer connect()()
	ctx := context.Background()

	lock := spinlock.New(rdb, "sequence:invoices")
	err := lock.Do(ctx, func(ctx context.Context) error {
		fmt.Println("the next number is mine")
		return nil
	})
	fmt.Println(err)
	// Output:
	// the next number is mine
	// <nil>
}

func ExampleNew() {
	defer connect()()

	lock := spinlock.New(rdb, "orders:42") // no I/O, nothing to close
	fmt.Println(lock.Name())
	// Output: orders:42
}

func ExampleWithBackOff() {
	defer connect()()
	ctx := context.Background()
	other := redis.NewClient(rdb.Options()) // another process
	defer other.Close()

	// 2 ms, 4 ms, 8 ms, and so on up to 500 ms: this waiter asks less often, and notices later that the lock is free.
	lock := spinlock.New(rdb, "orders:42", spinlock.WithBackOff(func(n int64) time.Duration {
		sleep := min(time.Millisecond<<min(n, 10), 500*time.Millisecond)
		if n <= 3 {
			fmt.Println("sleep", n, "is", sleep)
		}
		return sleep
	}))

	err := spinlock.New(other, "orders:42").Do(ctx, func(ctx context.Context) error {
		_, err := lock.Lock(ctx, redlatch.WithWait(50*time.Millisecond))
		fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
		return nil
	})
	fmt.Println(err)
	// Output:
	// sleep 1 is 2ms
	// sleep 2 is 4ms
	// sleep 3 is 8ms
	// true
	// <nil>
}

func ExampleLock_Lock() {
	defer connect()()
	ctx := context.Background()
	lock := spinlock.New(rdb, "orders:42")

	hold, err := lock.Lock(ctx, redlatch.WithWait(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hold.Valid(), hold.Unlock(ctx))
	// Output: true <nil>
}

func ExampleLock_TryLock() {
	defer connect()()
	ctx := context.Background()
	lock := spinlock.New(rdb, "orders:42")

	hold, err := lock.TryLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = lock.TryLock(ctx) // not with the hold's context: somebody else, as far as the lock knows
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
	_ = hold.Unlock(ctx)
	// Output: true
}
