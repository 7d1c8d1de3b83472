package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
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

// What a program tells apart: busy, cancelled, and broken.
func Example() {
	rdb, end := exampleClient()
	ctx := context.Background()

	work := func(lock redlatch.Locker) {
		hold, err := lock.TryLock(ctx)
		switch {
		case errors.Is(err, redlatch.ErrNotAcquired):
			fmt.Println("somebody else is at it")
			return
		case errors.Is(err, redlatch.ErrUnavailable):
			fmt.Println("Redis does not answer, so nobody knows whether somebody is at it")
			return
		case err != nil: // ctx has ended, say
			fmt.Println(err)
			return
		}
		defer hold.Unlock(ctx) // also when ctx has ended
		fmt.Println("at work, without a loss so far:", hold.Context(ctx).Err() == nil)
	}

	lock := rlock.New(rdb, "orders:42", redlatch.WithOutage(100*time.Millisecond))
	work(lock)
	_ = redlatch.Do(ctx, lock, func(context.Context) error {
		work(lock)
		return nil
	})
	end() // from here on there is no server
	work(lock)
	// Output:
	// at work, without a loss so far: true
	// somebody else is at it
	// Redis does not answer, so nobody knows whether somebody is at it
}

// Any lock goes wherever a Locker does, and the work stops when it is lost.
func ExampleDo() {
	rdb, end := exampleClient()
	defer end()

	var lock redlatch.Locker = rlock.New(rdb, "orders:42")
	err := redlatch.Do(context.Background(), lock, func(ctx context.Context) error {
		select {
		case <-time.After(time.Minute): // the work
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, redlatch.WithLease(200*time.Millisecond))
	var loss *redlatch.LossError
	if errors.As(err, &loss) {
		fmt.Println(loss.Name, "was lost:", loss.Reason)
	}
	// Output: orders:42 was lost: lease_over
}

// With the context of a hold the lock is taken again; a goroutine that must not do that is given another.
// What counts for a whole client is said where the client is made.
func ExampleConfigure() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	fmt.Println(redlatch.Configure(rdb, redlatch.WithLabel("billing"), redlatch.WithRegistry("app:")))
	fmt.Println(redlatch.Configure(rdb, redlatch.WithLabel("billing"))) // another package says the same

	err := redlatch.Configure(rdb, redlatch.WithLabel("invoices")) // names this line, and the first one
	fmt.Println(errors.Is(err, redlatch.ErrInvalid))

	fmt.Println(rlock.New(rdb, "orders:42").Do(ctx, func(context.Context) error { return nil }))
	err = redlatch.Configure(rdb, redlatch.WithLinger(0)) // comes after the first command
	fmt.Println(errors.Is(err, redlatch.ErrInvalid))
	// Output:
	// <nil>
	// <nil>
	// true
	// <nil>
	// true
}

// A package adds its metrics to the observer that the program has.
func ExampleObservers() {
	rdb, end := exampleClient()
	defer end()
	named := func(name string) redlatch.Observer {
		return redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) { fmt.Println(name, e.Kind) })
	}

	redlatch.SetDefaultObserver(named("traces"))
	defer redlatch.SetDefaultObserver(nil)
	redlatch.SetDefaultObserver(redlatch.Observers(redlatch.DefaultObserver(), named("metrics")))
	_ = rlock.New(rdb, "orders:42").Do(context.Background(), func(context.Context) error { return nil })
	// Output:
	// traces waiting
	// metrics waiting
	// metrics acquired
	// traces acquired
	// traces released
	// metrics released
}

func ExampleDefaultObserver() {
	fmt.Println(redlatch.DefaultObserver() == nil)
	redlatch.SetDefaultObserver(redlatch.ObserverFunc(func(context.Context, redlatch.Event) {}))
	defer redlatch.SetDefaultObserver(nil)
	fmt.Println(redlatch.DefaultObserver() == nil)
	// Output:
	// true
	// false
}

// An error or a page for people has the noun, a metric the kind.
func ExampleKind_Noun() {
	observer := redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventReleased {
			fmt.Printf("%s{primitive=%q}: the %s was given back\n", e.Kind, e.Primitive, e.Primitive.Noun())
		}
	})
	rdb, end := exampleClient()
	defer end()
	lock := rwlock.New(rdb, "catalogue", redlatch.WithObserver(observer))
	fmt.Println(lock.RDo(context.Background(), func(context.Context) error { return nil }))
	// Output:
	// released{primitive="read_lock"}: the read lock was given back
	// <nil>
}

// Code within Do that needs the hold, here for the guard of what it writes.
func ExampleHoldFrom() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fencedlock.New(rdb, "orders")
	guard := fencedlock.NewGuard(rdb, "orders")
	err := lock.Do(ctx, func(ctx context.Context) error {
		hold, ok := redlatch.HoldFrom(ctx, lock)
		if !ok {
			return redlatch.ErrNotHeld
		}
		return guard.For(hold).Set(ctx, "orders:next", "43")
	})
	fmt.Println(rdb.Get(ctx, "orders:next").Val(), err)
	// Output: 43 <nil>
}

func ExampleDetach() {
	rdb, end := exampleClient()
	defer end()

	lock := rlock.New(rdb, "orders:42")
	err := lock.Do(context.Background(), func(ctx context.Context) error {
		again, err := lock.TryLock(ctx)
		if err != nil {
			return err
		}
		defer again.Unlock(ctx)
		_, err = lock.TryLock(redlatch.Detach(ctx))
		return err
	})
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
	// Output: true
}

// A metric has its label from whoever makes the lock.
func ExampleWithObserver() {
	rdb, end := exampleClient()
	defer end()

	observe := func(label string) redlatch.Option {
		return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) { fmt.Println(label, e.Kind, e.Err) }))
	}
	lock := rlock.New(rdb, "orders:42", observe("orders"))
	_ = lock.Do(context.Background(), func(context.Context) error { return nil })
	// Output:
	// orders waiting <nil>
	// orders acquired <nil>
	// orders released <nil>
}

// Every host begins the job, and the first one does it.
func ExampleTryDo() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	nightly := func(job func(ctx context.Context) error) {
		ran, err := redlatch.TryDo(ctx, rlock.New(rdb, "nightly"), job)
		switch {
		case err != nil && !ran:
			fmt.Println("the lock cannot be asked for:", err)
		case err != nil:
			fmt.Println("the job has failed:", err)
		case !ran:
			fmt.Println("another host is at it")
		default:
			fmt.Println("done")
		}
	}
	nightly(func(context.Context) error {
		nightly(func(context.Context) error { return nil })
		return nil
	})
	nightly(func(context.Context) error { return errors.New("the disk is full") })
	// Output:
	// another host is at it
	// done
	// the job has failed: the disk is full
}

// What a refusal says costs no further command.
func ExampleNotAcquiredError() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := rlock.New(rdb, "orders:42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}
	defer hold.Unlock(ctx)
	_, err = lock.TryLock(ctx)
	if refusal, ok := errors.AsType[*redlatch.NotAcquiredError](err); ok {
		fmt.Println(refusal.Kind.Noun(), refusal.Name, "may be free in", refusal.Left.Round(time.Second))
	}
	// Output: lock orders:42 may be free in 30s
}
