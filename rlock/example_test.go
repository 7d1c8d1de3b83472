package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rlock"
)

// The examples run against a server of their own. In a program rdb is the client that it has anyway.
func exampleClient() (rdb *redis.Client, end func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return rdb, func() {
		_ = rdb.Close()
		server.Close()
	}
}

func Example() {
	rdb, end := exampleClient()
	defer end()

	lock := rlock.New(rdb, "orders:42")
	err := lock.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("charging") // ctx ends the moment the lock may be lost
		return nil
	})
	fmt.Println(err)
	// Output:
	// charging
	// <nil>
}

func ExampleNew() {
	rdb, end := exampleClient()
	defer end()

	// The options of New are the defaults of all calls. Nothing is sent, and there is nothing to close.
	lock := rlock.New(rdb, "orders:42", redlatch.WithWait(5*time.Second))
	fmt.Println(lock.Name())
	// Output: orders:42
}

// A job that several machines start at the same time by the clock, and that is over in a moment.
func ExampleLock_TryLock_atLeast() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := rlock.New(rdb, "report:2026-11-23", redlatch.WithAtLeast(time.Minute))
	hold, err := lock.TryLock(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("the report is sent")
	if err := hold.Unlock(ctx); err != nil {
		panic(err)
	}

	_, err = lock.TryLock(ctx) // of a machine whose clock is a second late
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
	// Output:
	// the report is sent
	// true
}

func ExampleNewNonReentrant() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := rlock.NewNonReentrant(rdb, "orders:42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	_, err = lock.Lock(hold.Context(ctx))
	fmt.Println(errors.Is(err, redlatch.ErrNotReentrant))
	// Output: true
}

func ExampleLock_Lock() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := rlock.New(rdb, "orders:42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)

	// Code that is given the hold's context takes the same lock again; anybody else waits.
	inner, err := lock.Lock(hold.Context(ctx))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer inner.Unlock(ctx)
	_, err = lock.Lock(ctx, redlatch.WithWait(200*time.Millisecond))
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired), errors.Is(err, context.DeadlineExceeded))
	// Output: true true
}

func ExampleLock_TryLock() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := rlock.New(rdb, "nightly-report")
	hold, err := lock.TryLock(ctx, redlatch.WithLease(time.Hour)) // kept for an hour, renewed by nobody
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	_, err = lock.TryLock(ctx)
	if errors.Is(err, redlatch.ErrNotAcquired) {
		fmt.Println("somebody else makes the report")
	}
	// Output: somebody else makes the report
}

func ExampleLock_Do() {
	rdb, end := exampleClient()
	defer end()

	lock := rlock.New(rdb, "orders:42")
	err := lock.Do(context.Background(), func(ctx context.Context) error {
		return errors.New("card refused")
	})
	fmt.Println(err)
	locked, _ := lock.IsLocked(context.Background())
	fmt.Println(locked)
	// Output:
	// card refused
	// false
}

func ExampleLock_HoldCount() {
	rdb, end := exampleClient()
	defer end()

	lock := rlock.New(rdb, "orders:42")
	_ = lock.Do(context.Background(), func(ctx context.Context) error {
		return lock.Do(ctx, func(ctx context.Context) error {
			holds, err := lock.HoldCount(ctx)
			fmt.Println(holds, err)
			return err
		})
	})
	// Output: 2 <nil>
}

func ExampleLock_IsLocked() {
	rdb, end := exampleClient()
	defer end()

	lock := rlock.New(rdb, "orders:42")
	_ = lock.Do(context.Background(), func(ctx context.Context) error {
		locked, err := lock.IsLocked(ctx)
		fmt.Println(locked, err)
		return err
	})
	// Output: true <nil>
}

func ExampleLock_RemainingTTL() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := rlock.New(rdb, "orders:42")
	hold, err := lock.Lock(ctx, redlatch.WithLease(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	left, err := lock.RemainingTTL(ctx)
	fmt.Println(left.Round(time.Minute), err)
	// Output: 1m0s <nil>
}

func ExampleLock_ForceUnlock() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := rlock.New(rdb, "orders:42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	freed, err := lock.ForceUnlock(ctx) // for administrators: the holder's work may still go on
	fmt.Println(freed, err)
	fmt.Println(errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
	// Output:
	// true <nil>
	// true
}

func ExampleLock_Inspect() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := rlock.New(rdb, "orders:42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	info, err := lock.Inspect(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, holder := range info.Holders {
		fmt.Println(holder.Owner == hold.Owner(), holder.Holds, holder.Own)
	}
	// Output: true 1 true
}

func ExampleLock_Name() {
	rdb, end := exampleClient()
	defer end()

	fmt.Println(rlock.New(rdb, "orders:42").Name())
	// Output: orders:42
}
