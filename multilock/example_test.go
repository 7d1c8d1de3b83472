package multilock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/multilock"
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

	// The order does not matter: another program may say 2, 1.
	lock := multilock.New([]redlatch.Locker{rlock.New(rdb, "account:1"), rlock.New(rdb, "account:2")})
	err := lock.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("transferring") // ctx ends the moment one of the two may be lost
		return nil
	})
	fmt.Println(err)
	// Output:
	// transferring
	// <nil>
}

func ExampleNew() {
	rdb, end := exampleClient()
	defer end()

	fmt.Println(multilock.New([]redlatch.Locker{rlock.New(rdb, "b"), rlock.New(rdb, "a")}).Name())
	// Output: a+b
}

func ExampleLock_Lock() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := multilock.New([]redlatch.Locker{rlock.New(rdb, "a"), rlock.New(rdb, "b")})
	hold, err := lock.Lock(ctx, redlatch.WithWait(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)

	// Its context takes multi-locks of the same members again.
	inner, err := multilock.New([]redlatch.Locker{rlock.New(rdb, "b")}).Lock(hold.Context(ctx))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inner.Unlock(ctx))
	// Output: <nil>
}

func ExampleLock_TryLock() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	busy, err := rlock.New(rdb, "b").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer busy.Unlock(ctx)
	a := rlock.New(rdb, "a")
	_, err = multilock.New([]redlatch.Locker{a, rlock.New(rdb, "b")}).TryLock(ctx)
	locked, _ := a.IsLocked(ctx)
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired), locked)
	// Output: true false
}

func ExampleLock_Do() {
	rdb, end := exampleClient()
	defer end()

	lock := multilock.New([]redlatch.Locker{rlock.New(rdb, "a"), rlock.New(rdb, "b")})
	fmt.Println(lock.Do(context.Background(), func(context.Context) error { return errors.New("not enough money") }))
	// Output: not enough money
}

// Options are the defaults of all calls, as with any lock.
func ExampleNew_options() {
	rdb, end := exampleClient()
	defer end()

	lock := multilock.New([]redlatch.Locker{rlock.New(rdb, "a"), rlock.New(rdb, "b")}, redlatch.WithWait(time.Second))
	fmt.Println(lock.Do(context.Background(), func(context.Context) error { return nil }))
	// Output: <nil>
}

func ExampleLock_Name() {
	rdb, end := exampleClient()
	defer end()

	fmt.Println(multilock.New([]redlatch.Locker{rlock.New(rdb, "a"), rlock.New(rdb, "b")}).Name())
	// Output: a+b
}

func ExampleNewGroup() {
	rdb, end := exampleClient()
	defer end()

	seats := multilock.NewGroup(rdb, "flight:7", []string{"12A", "12B"}) // one key, one round trip
	err := seats.Do(context.Background(), func(ctx context.Context) error {
		_, err := multilock.NewGroup(rdb, "flight:7", []string{"12B", "12C"}).TryLock(context.Background())
		fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
		return multilock.NewGroup(rdb, "flight:7", []string{"12C"}).Do(ctx, func(context.Context) error { return nil })
	})
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// What the methods of a group tell.
func ExampleGroup() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	seats := multilock.NewGroup(rdb, "flight:7", []string{"12B", "12A"})
	hold, err := seats.Lock(ctx, redlatch.WithLease(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	inner, err := seats.TryLock(hold.Context(ctx))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(seats.Name(), seats.Values())
	count, _ := seats.HoldCount(inner.Context(ctx))
	locked, _ := seats.IsLocked(ctx)
	left, _ := seats.RemainingTTL(ctx)
	fmt.Println(count, locked, left.Round(time.Minute))
	info, _ := seats.Inspect(ctx)
	for _, h := range info.Holders {
		fmt.Println(h.Value, h.Owner == hold.Owner(), h.Holds)
	}
	freed, _ := seats.ForceUnlock(ctx)
	fmt.Println(freed, errors.Is(inner.Unlock(ctx), redlatch.ErrLost), errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
	// Output:
	// flight:7 [12A 12B]
	// 2 true 1m0s
	// 12A true 2
	// 12B true 2
	// true true true
}

// What administrators ask, and do.
func ExampleLock_Inspect() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := multilock.New([]redlatch.Locker{rlock.New(rdb, "a"), rlock.New(rdb, "b")})
	hold, err := rlock.New(rdb, "b").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	info, err := lock.Inspect(ctx)
	for _, member := range info.Members {
		fmt.Println(member.Name, member.Kind, member.Exists, member.Err)
	}
	fmt.Println(info.Need, info.Exists, err)
	freed, err := lock.ForceUnlock(ctx)
	fmt.Println(freed, err, errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
	// Output:
	// a lock false <nil>
	// b lock true <nil>
	// 2 true <nil>
	// true <nil> true
}

func ExampleLock_RemainingTTL() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := multilock.New([]redlatch.Locker{rlock.New(rdb, "a"), rlock.New(rdb, "b")})
	err := lock.Do(ctx, func(ctx context.Context) error {
		locked, _ := lock.IsLocked(ctx)
		count, _ := lock.HoldCount(ctx)
		left, err := lock.RemainingTTL(ctx)
		fmt.Println(locked, count, left.Round(time.Minute))
		return err
	}, redlatch.WithLease(time.Minute))
	fmt.Println(err)
	// Output:
	// true 1 1m0s
	// <nil>
}
