// Leader elects one process to write, and keeps a leader who does not know yet that it was replaced from writing.
//
//	go run ./examples/leader
//
// Every acquisition of a fenced lock has a token that is greater than all before. The store that the leader writes to
// remembers the greatest it has seen and refuses smaller ones. Here it is in the same Redis, behind a Guard; a
// database does the same with UPDATE ... WHERE token <= $1.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/examples/internal/connect"
	"github.com/redlatch/redlatch/examples/internal/notice"
	"github.com/redlatch/redlatch/fencedlock"
)

const (
	name = "{example:leader}"
	data = "{example:leader}:data" // in the slot of the lock, so that one script can check the token and write
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	server := connect.Open()
	defer server.Close()
	first, second := server.Client(), server.Client()

	// The first leader has a lease of its own, which runs out while the process hangs.
	lock := fencedlock.New(first, name, redlatch.WithLease(500*time.Millisecond))
	waited := notice.Lock("the first leader", lock)
	hung, err := lock.Lock(ctx)
	waited()
	if err != nil {
		return err
	}
	if err := fencedlock.NewGuard(first, name).For(hung).Set(ctx, data, "written by the first leader"); err != nil {
		return err
	}
	fmt.Printf("the first leader has token %d, writes, and hangs\n", hung.Token())

	// The second one renews its lock; it is free three seconds after this process was killed.
	lock = fencedlock.New(second, name, redlatch.WithWatchdogTimeout(3*time.Second))
	waited = notice.Lock("the second leader", lock)
	leader, err := lock.Lock(ctx)
	waited()
	if err != nil {
		return err
	}
	if err := fencedlock.NewGuard(second, name).For(leader).Set(ctx, data, "written by the second leader"); err != nil {
		return err
	}
	fmt.Printf("the second leader has token %d, and writes\n", leader.Token())

	// The first one wakes up. Asked, its hold would say that it is over; but this code does not ask.
	err = fencedlock.NewGuard(first, name).For(hung).Set(ctx, data, "written too late")
	if !errors.Is(err, redlatch.ErrStale) {
		return fmt.Errorf("the late write was not refused: %v", err)
	}
	fmt.Println("the first leader writes again, and is refused:", err)
	fmt.Println("the data is:", second.Get(ctx, data).Val())
	_ = hung.Unlock(ctx) // says that it was lost, and leaves the second leader alone
	return leader.Unlock(ctx)
}
