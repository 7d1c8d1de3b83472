package redlatchtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// writeReport is the code under test: it writes a report unless another process does.
func writeReport(ctx context.Context, lock redlatch.Locker, write func(ctx context.Context) error) (string, error) {
	ran, err := redlatch.TryDo(ctx, lock, write)
	switch {
	case errors.Is(err, redlatch.ErrLost):
		return "interrupted", nil
	case err != nil:
		return "", err
	case !ran:
		return "skipped", nil
	}
	return "written", nil
}

func ExampleNewLocker() {
	ctx := context.Background()
	lock := redlatchtest.NewLocker("report")
	fmt.Println(writeReport(ctx, lock, func(context.Context) error { return nil }))

	fmt.Println(writeReport(ctx, lock, func(ctx context.Context) error {
		lock.Lose(nil)
		<-ctx.Done() // the work notices
		return context.Cause(ctx)
	}))

	free := lock.Busy()
	fmt.Println(writeReport(ctx, lock, func(context.Context) error { return nil }))
	free()

	restore := lock.Fail(errors.New("connection refused"))
	_, err := writeReport(ctx, lock, func(context.Context) error { return nil })
	fmt.Println(errors.Is(err, redlatch.ErrUnavailable))
	restore()
	// Output:
	// written <nil>
	// interrupted <nil>
	// skipped <nil>
	// true
}

// A hold that ends by itself: what does the program do that relied on its token?
func ExampleNewHold() {
	hold, lose := redlatchtest.NewHold(redlatchtest.Terms{Name: "orders:42", Token: 7})
	ctx := hold.Context(context.Background())
	fmt.Println(hold.Valid(), hold.Token())
	lose(errors.New("connection refused"))
	fmt.Println(hold.Valid(), errors.Is(context.Cause(ctx), redlatch.ErrLost))
	fmt.Println(errors.Is(hold.Unlock(context.Background()), redlatch.ErrLost))
	// Output:
	// true 7
	// false true
	// true
}
