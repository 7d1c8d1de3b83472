package rwlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rwlock"
)

// The work is left out where anybody reads or writes. TryRDo is left out beside a writer only.
func ExampleLock_TryDo() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")
	nothing := func(context.Context) error { return nil }

	reader, err := lock.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.TryDo(ctx, nothing))
	fmt.Println(lock.TryRDo(ctx, nothing))
	_ = reader.Unlock(ctx)
	fmt.Println(lock.TryDo(ctx, nothing))
	// Output:
	// false <nil>
	// true <nil>
	// true <nil>
}

func ExampleLock_TryRDo() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	writer, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.TryRDo(ctx, func(context.Context) error { return nil }))
	_ = writer.Unlock(ctx)
	// Output: false <nil>
}

// It tells whether anybody writes. Whether anybody reads is told by the other side.
func ExampleLock_IsLocked() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	reader, err := lock.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.IsLocked(ctx))
	fmt.Println(lock.Reader().IsLocked(ctx))
	_ = reader.Unlock(ctx)
	// Output:
	// false <nil>
	// true <nil>
}

// The holds of the context for writing are counted, and not those of readers.
func ExampleLock_HoldCount() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	_ = lock.RDo(ctx, func(ctx context.Context) error {
		fmt.Println(lock.HoldCount(ctx))
		return nil
	})
	_ = lock.Do(ctx, func(ctx context.Context) error {
		fmt.Println(lock.HoldCount(ctx))
		return nil
	})
	// Output:
	// 0 <nil>
	// 1 <nil>
}

// It takes the lock from a writer. Readers keep theirs: the reader's side frees those.
func ExampleLock_ForceUnlock() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	lock := rwlock.New(rdb, "catalogue")

	reader, err := lock.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.ForceUnlock(ctx))
	fmt.Println(lock.Reader().ForceUnlock(ctx))
	fmt.Println(errors.Is(reader.Unlock(ctx), redlatch.ErrLost))
	// Output:
	// false <nil>
	// true <nil>
	// true
}
