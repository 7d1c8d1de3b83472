package redlatchtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// A fakeLock is a lock as a test wants it: it refuses with err, or hands out a hold, which it can have lost.
type fakeLock struct {
	err  error
	lose func(cause error) // of the hold that was handed out last
}

var _ redlatch.Locker = (*fakeLock)(nil)

func (l *fakeLock) Name() string { return "report" }

func (l *fakeLock) Lock(context.Context, ...redlatch.Option) (hold *redlatch.Hold, err error) {
	if l.err != nil {
		return nil, l.err
	}
	hold, l.lose = redlatchtest.NewHold(redlatchtest.Terms{Name: "report"})
	return hold, nil
}

func (l *fakeLock) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return l.Lock(ctx, opts...)
}

// report is the code under test: it writes a report unless another process does.
func report(ctx context.Context, lock redlatch.Locker, write func(ctx context.Context) error) (string, error) {
	err := redlatch.Do(ctx, lock, write)
	switch {
	case errors.Is(err, redlatch.ErrNotAcquired):
		return "skipped", nil
	case errors.Is(err, redlatch.ErrLost):
		return "interrupted", nil
	case err != nil:
		return "", err
	}
	return "written", nil
}

func Example() {
	ctx := context.Background()
	lock := &fakeLock{}
	fmt.Println(report(ctx, lock, func(context.Context) error { return nil }))

	fmt.Println(report(ctx, lock, func(ctx context.Context) error {
		lock.lose(nil)
		<-ctx.Done() // the work notices
		return context.Cause(ctx)
	}))

	lock.err = redlatch.ErrNotAcquired
	fmt.Println(report(ctx, lock, func(context.Context) error { return nil }))
	// Output:
	// written <nil>
	// interrupted <nil>
	// skipped <nil>
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
