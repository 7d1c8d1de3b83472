package fairlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
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

// Whoever asks first is served first, in whichever process.
func Example() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fairlock.New(rdb, "printer")
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	var jobs sync.WaitGroup
	for _, job := range []string{"first", "second", "third"} {
		jobs.Go(func() {
			err := lock.Do(ctx, func(context.Context) error {
				fmt.Println(job)
				return nil
			})
			if err != nil {
				fmt.Println(err)
			}
		})
		stands(lock, job)
	}
	if err := hold.Unlock(ctx); err != nil {
		fmt.Println(err)
	}
	jobs.Wait()
	// Output:
	// first
	// second
	// third
}

// stands waits until as many stand in the queue as have begun by then.
func stands(lock *fairlock.Lock, job string) {
	want := map[string]int{"first": 1, "second": 2, "third": 3}[job]
	for {
		info, err := lock.Inspect(context.Background())
		if err != nil || len(info.Queue) >= want {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func ExampleNew() {
	rdb, end := exampleClient()
	defer end()

	// The entries of a process that has died are passed over after five seconds instead of fifteen.
	lock := fairlock.New(rdb, "printer", fairlock.WithPatience(5*time.Second))
	fmt.Println(lock.Name())
	// Output: printer
}

func ExampleWithPatience() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	patient := fairlock.WithPatience(5 * time.Second)
	fmt.Println(fairlock.New(rdb, "printer", patient).Do(ctx, func(context.Context) error { return nil }))
	_, err := rlock.New(rdb, "orders:42", patient).Lock(ctx) // whose waiters are in no queue in Redis
	fmt.Println(err)
	// Output:
	// <nil>
	// redlatch: invalid argument: WithPatience is for fairlock and does not apply to a lock; leave it out
}

func ExampleNewNonReentrant() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fairlock.NewNonReentrant(rdb, "printer")
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

	lock := fairlock.New(rdb, "printer")
	hold, err := lock.Lock(ctx, redlatch.WithWait(10*time.Second))
	if errors.Is(err, redlatch.ErrNotAcquired) {
		fmt.Println("too many before us") // and nothing of us is left in the queue
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	fmt.Println("printing")
	// Output: printing
}

func ExampleLock_TryLock() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fairlock.New(rdb, "printer")
	hold, err := lock.TryLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	_, err = lock.TryLock(ctx) // not with the hold's context: somebody else
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
	// Output: true
}

func ExampleLock_Do() {
	rdb, end := exampleClient()
	defer end()

	lock := fairlock.New(rdb, "printer")
	err := lock.Do(context.Background(), func(ctx context.Context) error {
		// With ctx the same lock is taken again, whoever waits.
		return lock.Do(ctx, func(context.Context) error { return nil })
	})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleLock_Inspect() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fairlock.New(rdb, "printer")
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
	fmt.Println("holders:", len(info.Holders), "own:", info.Holders[0].Own, "waiting:", len(info.Queue))
	// Output: holders: 1 own: true waiting: 0
}

// The index of a waiter in the queue is its place. Own tells which of them are of this client.
func ExampleLock_Inspect_place() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fairlock.New(rdb, "printer")
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	printed := make(chan error)
	go func() { printed <- lock.Do(ctx, func(context.Context) error { return nil }) }() // it waits
	for place := 0; place == 0; time.Sleep(time.Millisecond) {
		info, err := lock.Inspect(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if i := slices.IndexFunc(info.Queue, func(w redlatch.Waiter) bool { return w.Own }); i >= 0 {
			place = i + 1
			fmt.Println("place", place, "of", len(info.Queue))
		}
	}
	fmt.Println(hold.Unlock(ctx), <-printed)
	// Output:
	// place 1 of 1
	// <nil> <nil>
}

func ExampleLock_ForceUnlock() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fairlock.New(rdb, "printer")
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	freed, err := lock.ForceUnlock(ctx)
	fmt.Println(freed, err)
	fmt.Println(errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
	// Output:
	// true <nil>
	// true
}

func ExampleLock_HoldCount() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fairlock.New(rdb, "printer", redlatch.WithLease(time.Minute))
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	count, err := lock.HoldCount(hold.Context(ctx))
	fmt.Println(count, err)
	locked, err := lock.IsLocked(ctx)
	fmt.Println(locked, err)
	left, err := lock.RemainingTTL(ctx)
	fmt.Println(left > 50*time.Second, err)
	// Output:
	// 1 <nil>
	// true <nil>
	// true <nil>
}
