package redlatchtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/rlock"
)

// A shown is what the examples have for the *testing.T of a test: it prints what fails.
type shown struct {
	testing.TB
	cleanups []func()
}

func (s *shown) Helper()                           {}
func (s *shown) Cleanup(do func())                 { s.cleanups = append(s.cleanups, do) }
func (s *shown) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (s *shown) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (s *shown) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// end ends the test.
func (s *shown) end() {
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
}

// Each client stands for a process of its own. t is the *testing.T of a test.
func ExampleRun() {
	t := &shown{}
	defer t.end()
	ctx := context.Background()

	server := redlatchtest.Run(t)
	here, there := rlock.New(server.Client(), "orders:42"), rlock.New(server.Client(), "orders:42")
	hold, _ := here.Lock(ctx)
	_, err := there.TryLock(ctx)
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
	_ = hold.Unlock(ctx)
	// Output: true
}

// The lock is taken and given to another owner. The holder is not told: it learns of it when it asks the
// server.
func ExampleServer_Steal() {
	t := &shown{}
	defer t.end()
	ctx := context.Background()

	server := redlatchtest.Run(t)
	hold, _ := rlock.New(server.Client(), "orders:42").Lock(ctx)
	thief := server.Steal("orders:42")
	fmt.Println(hold.Valid())
	fmt.Println(errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
	_ = thief.Unlock(ctx)
	// Output:
	// true
	// true
}

// The release is executed, and its reply is lost. The library asks again, so the program does not notice.
func ExampleServer_LoseNextReply() {
	t := &shown{}
	defer t.end()
	ctx := context.Background()

	server := redlatchtest.Run(t)
	lock := rlock.New(server.Client(), "orders:42")
	hold, _ := lock.Lock(ctx)
	server.LoseNextReply("orders:42")
	fmt.Println(hold.Unlock(ctx))
	fmt.Println(lock.IsLocked(ctx))
	// Output:
	// <nil>
	// false <nil>
}

// What a program does where the server answers with an error is tested without waiting: a try gives up at
// once with WithOutage.
func ExampleServer_Fail() {
	t := &shown{}
	defer t.end()
	ctx := context.Background()

	server := redlatchtest.Run(t)
	lock := rlock.New(server.Client(), "orders:42", redlatch.WithOutage(50*time.Millisecond))
	restore := server.Fail(errors.New("LOADING Redis is loading the dataset in memory"))
	_, err := lock.TryLock(ctx)
	fmt.Println(errors.Is(err, redlatch.ErrUnavailable))
	restore()
	hold, err := lock.TryLock(ctx)
	fmt.Println(err)
	_ = hold.Unlock(ctx)
	// Output:
	// true
	// <nil>
}

// Time passes for the keys of the server alone, as if the holder's process had been suspended: another one
// has the lock, and the first still believes in it.
func ExampleServer_Advance() {
	t := &shown{}
	defer t.end()
	ctx := context.Background()

	server := redlatchtest.Run(t)
	hold, _ := rlock.New(server.Client(), "orders:42").Lock(ctx)
	server.Advance(time.Minute)
	other, err := rlock.New(server.Client(), "orders:42").TryLock(ctx)
	fmt.Println(err, hold.Valid())
	fmt.Println(errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
	_ = other.Unlock(ctx)
	// Output:
	// <nil> true
	// true
}

// What a test has not given back fails it, with the place where it was acquired.
func ExampleStillHeld() {
	ctx := context.Background()
	redlatchtest.StillHeld() // what is acquired from here on
	hold, _ := redlatchtest.NewLocker("orders:42").Lock(ctx)
	for _, held := range redlatchtest.StillHeld() {
		fmt.Println(held.Name)
	}
	_ = hold.Unlock(ctx)
	fmt.Println(len(redlatchtest.StillHeld()))
	// Output:
	// orders:42
	// 0
}

// Another process has the lock, until free is called.
func ExampleLocker_Busy() {
	ctx := context.Background()
	lock := redlatchtest.NewLocker("report")

	free := lock.Busy()
	_, err := lock.TryLock(ctx)
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
	free()
	hold, err := lock.TryLock(ctx)
	fmt.Println(err)
	_ = hold.Unlock(ctx)
	// Output:
	// true
	// <nil>
}

// The hold is lost in the middle of the work: its context ends, and Unlock says so too.
func ExampleLocker_Lose() {
	ctx := context.Background()
	lock := redlatchtest.NewLocker("report")

	err := redlatch.Do(ctx, lock, func(ctx context.Context) error {
		lock.Lose(errors.New("connection refused"))
		<-ctx.Done()
		return context.Cause(ctx)
	})
	fmt.Println(errors.Is(err, redlatch.ErrLost))
	// Output: true
}

// The server is out of reach. A hold whose Unlock has failed gives the lock back when it is there again.
func ExampleLocker_Fail() {
	ctx := context.Background()
	lock := redlatchtest.NewLocker("report")

	hold, _ := lock.Lock(ctx)
	restore := lock.Fail(errors.New("connection refused"))
	fmt.Println(errors.Is(hold.Unlock(ctx), redlatch.ErrUnavailable))
	restore()
	again, err := lock.TryLock(ctx)
	fmt.Println(err)
	_ = again.Unlock(ctx)
	// Output:
	// true
	// <nil>
}
