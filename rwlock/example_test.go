package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rwlock"
)

// Whoever rebuilds the catalogue publishes it and goes on reading what it has published, before anybody can rebuild it
// again: a downgrade.
func Example() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	writing, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("rebuild")
	reading, err := lock.RLock(writing.Context(ctx))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := writing.Unlock(ctx); err != nil { // readers come in
		fmt.Println(err)
	}
	fmt.Println("check what was built")
	if err := reading.Unlock(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// rebuild
	// check what was built
}

func ExampleNew() {
	rdb, stop := start()
	defer stop()

	lock := rwlock.New(rdb, "catalogue", rwlock.WithWriterPreference()) // no I/O, nothing to close
	fmt.Println(lock.Name())
	// Output: catalogue
}

// Readers come and go, and at least one is always in. The writer gets its turn all the same.
func ExampleWithWriterPreference() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue", rwlock.WithWriterPreference())

	reader, err := lock.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	written := make(chan error)
	go func() { written <- lock.Do(ctx, func(context.Context) error { return nil }) }()
	for err == nil { // until the writer waits
		var late *redlatch.Hold
		if late, err = lock.TryRLock(ctx); err == nil {
			_ = late.Unlock(ctx)
		}
	}
	fmt.Println("a new reader stands back:", errors.Is(err, redlatch.ErrNotAcquired))
	_ = reader.Unlock(ctx)
	fmt.Println(<-written)
	// Output:
	// a new reader stands back: true
	// <nil>
}

func ExampleLock_Name() {
	rdb, stop := start()
	defer stop()

	fmt.Println(rwlock.New(rdb, "catalogue").Name())
	// Output: catalogue
}

func ExampleLock_Lock() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	hold, err := lock.Lock(ctx, redlatch.WithWait(10*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = lock.TryRLock(ctx)
	fmt.Println("a reader gets in:", !errors.Is(err, redlatch.ErrNotAcquired))
	fmt.Println(hold.Unlock(ctx))
	// Output:
	// a reader gets in: false
	// <nil>
}

// There is no upgrade: it would wait for itself.
func ExampleLock_Lock_upgrade() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	err := lock.RDo(ctx, func(ctx context.Context) error {
		_, err := lock.Lock(ctx)
		return err
	})
	fmt.Println(errors.Is(err, redlatch.ErrUpgrade))
	// Output: true
}

func ExampleLock_TryLock() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	reader, err := lock.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Unlock(ctx)
	if _, err := lock.TryLock(ctx); errors.Is(err, redlatch.ErrNotAcquired) {
		fmt.Println("somebody reads")
	}
	// Output: somebody reads
}

func ExampleLock_RLock() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	one, err := lock.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer one.Unlock(ctx)
	other, err := lock.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer other.Unlock(ctx)
	fmt.Println("both read:", one.Valid() && other.Valid())
	// Output: both read: true
}

func ExampleLock_TryRLock() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	hold, err := lock.TryRLock(ctx)
	fmt.Println(err)
	fmt.Println(hold.Unlock(ctx))
	// Output:
	// <nil>
	// <nil>
}

func ExampleLock_Do() {
	rdb, stop := start()
	defer stop()

	err := rwlock.New(rdb, "catalogue").Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("rebuild")
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// rebuild
	// <nil>
}

func ExampleLock_RDo() {
	rdb, stop := start()
	defer stop()

	err := rwlock.New(rdb, "catalogue").RDo(context.Background(), func(ctx context.Context) error {
		fmt.Println("look something up")
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// look something up
	// <nil>
}

// Either side goes wherever a redlatch.Locker does.
func ExampleLock_Reader() {
	rdb, stop := start()
	defer stop()

	var locker redlatch.Locker = rwlock.New(rdb, "catalogue").Reader()
	fmt.Println(redlatch.Do(context.Background(), locker, func(context.Context) error { return nil }))
	// Output: <nil>
}

func ExampleLock_Writer() {
	rdb, stop := start()
	defer stop()

	var locker redlatch.Locker = rwlock.New(rdb, "catalogue").Writer()
	fmt.Println(redlatch.Do(context.Background(), locker, func(context.Context) error { return nil }))
	// Output: <nil>
}

func ExampleLock_Inspect() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	err := lock.RDo(ctx, func(ctx context.Context) error {
		info, err := lock.Inspect(ctx)
		for _, holder := range info.Holders {
			fmt.Println(holder.Side, holder.Holds, holder.Own)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// read 1 true
	// <nil>
}

func ExampleSide_Name() {
	rdb, stop := start()
	defer stop()

	fmt.Println(rwlock.New(rdb, "catalogue").Reader().Name())
	// Output: catalogue
}

func ExampleSide_Lock() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()

	hold, err := rwlock.New(rdb, "catalogue").Reader().Lock(ctx)
	fmt.Println(err)
	fmt.Println(hold.Unlock(ctx))
	// Output:
	// <nil>
	// <nil>
}

func ExampleSide_TryLock() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()

	hold, err := rwlock.New(rdb, "catalogue").Writer().TryLock(ctx)
	fmt.Println(err)
	fmt.Println(hold.Unlock(ctx))
	// Output:
	// <nil>
	// <nil>
}

func ExampleSide_Do() {
	rdb, stop := start()
	defer stop()

	fmt.Println(rwlock.New(rdb, "catalogue").Reader().Do(context.Background(), func(ctx context.Context) error {
		return ctx.Err()
	}))
	// Output: <nil>
}

func ExampleSide_IsLocked() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	err := lock.Do(ctx, func(ctx context.Context) error {
		fmt.Println(lock.Writer().IsLocked(ctx))
		fmt.Println(lock.Reader().IsLocked(ctx))
		return nil
	})
	fmt.Println(err)
	// Output:
	// true <nil>
	// false <nil>
	// <nil>
}

func ExampleSide_HoldCount() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	err := lock.RDo(ctx, func(ctx context.Context) error {
		return lock.RDo(ctx, func(ctx context.Context) error {
			fmt.Println(lock.Reader().HoldCount(ctx))
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// <nil>
}

func ExampleSide_RemainingTTL() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	err := lock.RDo(ctx, func(ctx context.Context) error {
		ttl, err := lock.Reader().RemainingTTL(ctx)
		fmt.Println(ttl > 4*time.Minute)
		return err
	}, redlatch.WithLease(5*time.Minute))
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// An administrator frees what a program holds that has gone astray.
func ExampleSide_ForceUnlock() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.Reader().ForceUnlock(ctx))
	fmt.Println(lock.Writer().ForceUnlock(ctx))
	fmt.Println(errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
	// Output:
	// false <nil>
	// true <nil>
	// true
}

func ExampleSide_Inspect() {
	rdb, stop := start()
	defer stop()

	info, err := rwlock.New(rdb, "catalogue").Writer().Inspect(context.Background())
	fmt.Println(len(info.Holders), err)
	// Output: 0 <nil>
}
