package countdownlatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
)

// A report is made when three imports are done, whichever processes they run in.
func Example() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()

	done := countdownlatch.New(rdb, "import:7")
	if set, err := done.TrySetCount(ctx, 3); err != nil || !set { // before the work starts
		fmt.Println("set by somebody else:", !set, err)
		return
	}
	var imports sync.WaitGroup
	defer imports.Wait() // the last may still read its answer when the latch is open
	for range 3 {
		imports.Go(func() { // the work, and then
			if err := done.CountDown(ctx); err != nil {
				fmt.Println(err)
			}
		})
	}
	if err := done.Await(ctx); err != nil { // nil means counted down, and nothing else
		fmt.Println(err)
		return
	}
	fmt.Println("all imports are done")
	// Output: all imports are done
}

func ExampleNew() {
	rdb, stop := start()
	defer stop()

	done := countdownlatch.New(rdb, "import:7", redlatch.WithTTL(time.Hour)) // no I/O, nothing to close
	fmt.Println(done.Name())
	// Output: import:7
}

func ExampleLatch_Name() {
	rdb, stop := start()
	defer stop()

	fmt.Println(countdownlatch.New(rdb, "import:7").Name())
	// Output: import:7
}

// The first process to come sets the count; the others find it set.
func ExampleLatch_TrySetCount() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	done := countdownlatch.New(rdb, "import:7")

	fmt.Println(done.TrySetCount(ctx, 3, redlatch.WithTTL(time.Hour)))
	fmt.Println(done.TrySetCount(ctx, 5))
	fmt.Println(done.Count(ctx))
	// Output:
	// true <nil>
	// false <nil>
	// 3 <nil>
}

// CountDown works on a context that has been cancelled, so it can be deferred.
func ExampleLatch_CountDown() {
	rdb, stop := start()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := countdownlatch.New(rdb, "import:7")
	_, _ = done.TrySetCount(ctx, 2)

	cancel()
	fmt.Println(done.CountDown(ctx))
	fmt.Println(done.Count(context.Background()))
	// Output:
	// <nil>
	// 1 <nil>
}

func ExampleLatch_Count() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	done := countdownlatch.New(rdb, "import:7")

	fmt.Println(done.Count(ctx)) // 0: there is no latch, which does not say that the work is done
	_, _ = done.TrySetCount(ctx, 2)
	fmt.Println(done.Count(ctx))
	// Output:
	// 0 <nil>
	// 2 <nil>
}

func ExampleLatch_Await() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	done := countdownlatch.New(rdb, "import:7")
	_, _ = done.TrySetCount(ctx, 1)

	err := done.Await(ctx, redlatch.WithWait(200*time.Millisecond))
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired), errors.Is(err, context.DeadlineExceeded))
	_ = done.CountDown(ctx)
	fmt.Println(done.Await(ctx))
	// Output:
	// true true
	// <nil>
}

// A latch that is gone is not taken for one that was counted down.
func ExampleLatch_Await_why() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	done := countdownlatch.New(rdb, "import:7", redlatch.WithTTL(time.Hour))
	_, _ = done.TrySetCount(ctx, 3)
	_, _ = done.Delete(ctx) // the import is called off

	switch err := done.Await(ctx); {
	case err == nil:
		fmt.Println("all imports are done")
	case errors.Is(err, countdownlatch.ErrExpired), errors.Is(err, countdownlatch.ErrDeleted):
		fmt.Println("some imports are missing")
	case errors.Is(err, countdownlatch.ErrNotSet):
		fmt.Println("no import has begun")
	default: // ctx ended, or the server failed
		fmt.Println(err)
	}
	// Output: some imports are missing
}

// Deleting the latch releases everybody who waits.
func ExampleLatch_Delete() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()
	done := countdownlatch.New(rdb, "import:7")
	_, _ = done.TrySetCount(ctx, 3)

	fmt.Println(done.Delete(ctx))
	fmt.Println(errors.Is(done.Await(ctx), countdownlatch.ErrDeleted))
	// Output:
	// true <nil>
	// true
}
