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

	eager := spinlock.New(rdb, "orders:42", redlatch.WithBackOff(time.Millisecond, 16*time.Millisecond))
	steady := spinlock.New(rdb, "orders:43", redlatch.WithConstantBackOff(64*time.Millisecond))
	fmt.Println(eager.Name(), steady.Name())
	// Output: orders:42 orders:43
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
