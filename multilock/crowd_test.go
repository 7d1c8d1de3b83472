package multilock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
)

const (
	workers = 16
	names   = 8
	rounds  = 5000 // in all
)

// crowd has the workers take random subsets of the names, each guarded by a number that only its holder may touch.
func crowd(t *testing.T, rounds int, lock func(worker int, subset []int) redlatch.Locker) {
	var (
		inside [names]atomic.Int64
		left   atomic.Int64
		all    sync.WaitGroup
	)
	left.Store(int64(rounds))
	// A deadlock would last for ever; this only ends the test with a message instead.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for w := range workers {
		all.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				subset := rand.Perm(names)[:1+rand.IntN(4)]
				hold, err := lock(w, subset).Lock(ctx)
				if err != nil {
					t.Errorf("worker %d, names %v: %v", w, subset, err)
					return
				}
				for _, i := range subset {
					if n := inside[i].Add(1); n != 1 {
						t.Errorf("%d inside of name %d", n, i)
					}
				}
				if !hold.Valid() {
					t.Errorf("worker %d is inside without a valid hold", w)
				}
				for _, i := range subset {
					inside[i].Add(-1)
				}
				if err := hold.Unlock(ctx); err != nil {
					t.Errorf("worker %d, names %v: %v", w, subset, err)
				}
			}
		})
	}
	all.Wait()
}

func TestManyWorkersOverRandomSubsetsNeitherDeadlockNorLeaveAnything(t *testing.T) {
	a, b := redistest.Process(t), redistest.Process(t)
	clients := make([][2]redlatch.Client, 4) // four processes, each with a client of both servers
	for i := range clients {
		clients[i] = [2]redlatch.Client{a.Client(t), b.Client(t)}
	}
	crowd(t, rounds, func(worker int, subset []int) redlatch.Locker {
		var members []redlatch.Locker
		for _, i := range subset { // in random order
			members = append(members, rlock.New(clients[worker%4][i%2], fmt.Sprint("name:", i), quiet...))
		}
		return multilock.New(members)
	})
	eventually(t, "nothing is left", func() bool { // a lock that was busy may have been left to others for a moment
		return len(a.Keys(t)) == 0 && len(b.Keys(t)) == 0
	})
}

func TestManyWorkersOverRandomValuesOfAGroup(t *testing.T) {
	srv := redistest.Process(t)
	clients := make([]redlatch.Client, 4)
	for i := range clients {
		clients[i] = srv.Client(t)
	}
	crowd(t, rounds, func(worker int, subset []int) redlatch.Locker {
		var values []string
		for _, i := range subset {
			values = append(values, fmt.Sprint("value:", i))
		}
		return multilock.NewGroup(clients[worker%4], "group", values, quiet...)
	})
	require.Empty(t, srv.Keys(t))
}

// Others take the members one by one, in an order of their own and without a limit. Somebody has to give way.
func TestProgramsThatLockTheMembersInAnotherOrderCloseNoCircle(t *testing.T) {
	srv := redistest.Process(t)
	ours, theirs := srv.Client(t), srv.Client(t)
	ctx := cancellable(t)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for range 5 {
				both := multilock.New([]redlatch.Locker{rlock.New(ours, "a", quiet...), rlock.New(ours, "b", quiet...)})
				hold, err := both.Lock(ctx)
				if err != nil {
					t.Errorf("multi-lock: %v", err)
					return
				}
				if err := hold.Unlock(ctx); err != nil {
					t.Errorf("multi-lock: %v", err)
				}
			}
		})
	}
	all.Go(func() {
		first, second := rlock.New(theirs, "b", quiet...), rlock.New(theirs, "a", quiet...)
		for range 5 {
			outer, err := first.Lock(ctx)
			if err != nil {
				t.Errorf("b: %v", err)
				return
			}
			inner, err := second.Lock(ctx)
			if err != nil {
				t.Errorf("a: %v", err)
				return
			}
			if inner.Unlock(ctx) != nil || outer.Unlock(ctx) != nil {
				t.Error("the holds of the other program were lost")
			}
		}
	})
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("a circle of waiters was closed and stays")
	}
	eventually(t, "nothing is left", func() bool { return len(srv.Keys(t)) == 0 })
}
