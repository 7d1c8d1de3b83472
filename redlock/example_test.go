package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlock"
)

// The examples run against servers of their own. In a program these are the clients of five masters on five machines.
func exampleServers() (servers []*miniredis.Miniredis, clients []redlatch.Client, end func()) {
	for range 5 {
		server, err := miniredis.Run()
		if err != nil {
			panic(err)
		}
		servers = append(servers, server)
		clients = append(clients, redis.NewClient(&redis.Options{Addr: server.Addr()}))
	}
	return servers, clients, func() {
		for i, server := range servers {
			_ = clients[i].(*redis.Client).Close()
			server.Close()
		}
	}
}

func Example() {
	servers, clients, end := exampleServers()
	defer end()

	lock := redlock.New(clients, "orders:42")
	servers[1].SetError("NOAUTH Authentication required.")
	servers[3].SetError("NOAUTH Authentication required.")
	err := lock.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("charging") // ctx ends the moment too few servers may still have the lock
		return nil
	})
	fmt.Println(err)
	// Output:
	// charging
	// <nil>
}

func ExampleNew() {
	_, clients, end := exampleServers()
	defer end()

	lock := redlock.New(clients, "orders:42", redlatch.WithLease(10*time.Second), redlock.WithNodeTimeout(50*time.Millisecond))
	fmt.Println(lock.Name())
	// Output: orders:42
}

func ExampleWithNodeTimeout() {
	_, clients, end := exampleServers()
	defer end()
	ctx := context.Background()

	lock := redlock.New(clients, "orders:42", redlock.WithNodeTimeout(50*time.Millisecond)) // a round trip takes 5 ms
	fmt.Println(lock.Do(ctx, func(context.Context) error { return nil }))
	_, err := redlock.New(clients, "orders:42", redlock.WithNodeTimeout(0)).Lock(ctx)
	fmt.Println(err)
	// Output:
	// <nil>
	// redlatch: invalid argument: WithNodeTimeout(0s): at least 1ms, and more than a round trip
}

func ExampleLock_Lock() {
	_, clients, end := exampleServers()
	defer end()
	ctx := context.Background()

	lock := redlock.New(clients, "orders:42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	_, err = lock.Lock(ctx, redlatch.WithWait(200*time.Millisecond))
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired), errors.Is(err, context.DeadlineExceeded))
	// Output: true true
}

func ExampleLock_TryLock() {
	servers, clients, end := exampleServers()
	defer end()

	for _, server := range servers[:3] {
		server.SetError("NOAUTH Authentication required.")
	}
	_, err := redlock.New(clients, "orders:42").TryLock(context.Background())
	var failed *redlock.NodeError
	if errors.As(err, &failed) {
		fmt.Println(failed.Refused, failed.Err)
	}
	// Output: false NOAUTH Authentication required.
}

func ExampleLock_Do() {
	_, clients, end := exampleServers()
	defer end()

	lock := redlock.New(clients, "orders:42")
	fmt.Println(lock.Do(context.Background(), func(context.Context) error { return errors.New("card refused") }))
	// Output: card refused
}

func ExampleLock_Inspect() {
	servers, clients, end := exampleServers()
	defer end()
	ctx := context.Background()

	servers[4].SetError("NOAUTH Authentication required.")
	lock := redlock.New(clients, "orders:42")
	err := lock.Do(ctx, func(ctx context.Context) error {
		info, err := lock.Inspect(ctx)
		fmt.Println(info.Need, "of", len(info.Members), "are needed; the last says:", info.Members[4].Err != nil)
		return err
	})
	fmt.Println(err)
	// Output:
	// 3 of 5 are needed; the last says: true
	// <nil>
}

// What administrators ask, and do.
func ExampleLock_ForceUnlock() {
	_, clients, end := exampleServers()
	defer end()
	ctx := context.Background()

	lock := redlock.New(clients, "orders:42")
	hold, err := lock.Lock(ctx, redlatch.WithLease(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	locked, _ := lock.IsLocked(ctx)
	count, _ := lock.HoldCount(hold.Context(ctx))
	left, _ := lock.RemainingTTL(ctx)
	fmt.Println(locked, count, left.Round(time.Minute))
	freed, _ := lock.ForceUnlock(ctx)
	fmt.Println(freed, errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
	// Output:
	// true 1 1m0s
	// true true
}
