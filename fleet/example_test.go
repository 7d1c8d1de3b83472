package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
)

// What is held now, by whom, and who waits.
func ExampleList() {
	rdb, stop := start()
	defer stop()

	report, err := fleet.List(context.Background(), rdb)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range report.Objects {
		for _, h := range o.Holders {
			fmt.Printf("%s %q is held by %s\n", o.Kind, o.Key, h.Who())
		}
		for _, w := range o.Waiting.Processes {
			fmt.Printf("%d calls of %s wait for it\n", w.Calls, w.Who())
		}
	}
	if missing := report.Missing(); missing != "" {
		fmt.Println(missing)
	}
	// Output:
	// lock "orders:42" is held by web-1 billing pid 17
	// 3 calls of web-2 billing pid 17 wait for it
	// lock "refunds" is held by Redisson client 33333333-3333-4333-8333-333333333333
}

func ExampleGet() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()

	o, err := fleet.Get(ctx, rdb, redlatch.KindLock, "orders:42")
	if err != nil {
		fmt.Println(err)
		return
	}
	holder := o.Holders[0]
	fmt.Println(holder.Client.Host, "is silent:", holder.Client.Silent())

	_, err = fleet.Get(ctx, rdb, redlatch.KindSemaphore, "orders:42")
	var wrong *fleet.KindError
	fmt.Println(errors.As(err, &wrong), err)
	// Output:
	// web-1 is silent: false
	// true redlatch: "orders:42" is a lock, not a semaphore
}

func ExampleClients() {
	rdb, stop := start()
	defer stop()

	clients, err := fleet.Clients(context.Background(), rdb)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range clients {
		for _, use := range c.Objects {
			fmt.Printf("%s: %s %q, %d holds, %d waiters\n", c, use.Kind, use.Key, use.Holds, use.Waiters)
		}
	}
	// Output:
	// web-1 billing pid 17: lock "orders:42", 1 holds, 0 waiters
	// web-2 billing pid 17: lock "orders:42", 0 holds, 3 waiters
}

// A person asks for a lock, and waits for what its program says to it.
func ExampleHolder_Ask() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()

	o, err := fleet.Get(ctx, rdb, redlatch.KindLock, "refunds")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, holder := range o.Holders {
		answer, err := holder.Ask(ctx, fleet.Notice{Who: "ada@ops-1", Why: "a hotfix"}, 10*time.Second)
		var unaskable *fleet.UnaskableError
		switch {
		case errors.As(err, &unaskable):
			fmt.Println(holder.Who(), "cannot be asked")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(holder.Who(), answer) // given up, held on, not heard, or not held
		}
	}
	// Output: Redisson client 33333333-3333-4333-8333-333333333333 cannot be asked
}

// A lock is taken from one owner, and from no other that has got it since it was looked at.
func ExampleHolder_Free() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()

	o, err := fleet.Get(ctx, rdb, redlatch.KindLock, "refunds")
	if err != nil {
		fmt.Println(err)
		return
	}
	notice := fleet.Notice{Who: "ada@ops-1", Why: "its machine is gone"}
	for _, holder := range o.Holders {
		fmt.Println(holder.Free(ctx, notice))
		fmt.Println(holder.Free(ctx, notice)) // it does not hold it any more
	}
	// Output:
	// true <nil>
	// false <nil>
}

// What a program has said that died while it waited stays for ten minutes: a silent waiter is not to be
// counted.
func ExampleWaiter_Silent() {
	rdb, stop := start()
	defer stop()

	o, err := fleet.Get(context.Background(), rdb, redlatch.KindLock, "orders:42")
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := int64(0)
	for _, w := range o.Waiting.Processes {
		if !w.Silent() {
			calls += w.Calls
		}
	}
	fmt.Println(calls, "calls wait")
	// Output: 3 calls wait
}

// A holder that is silent is probably dead, suspended or cut off. One without an entry, as of Redisson, has
// no Client, and nothing is known.
func ExampleClient_Silent() {
	rdb, stop := start()
	defer stop()

	report, err := fleet.List(context.Background(), rdb)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range report.Objects {
		for _, h := range o.Holders {
			switch {
			case h.Client == nil:
				fmt.Println(o.Key, "not known")
			case h.Client.Silent():
				fmt.Println(o.Key, "probably dead")
			default:
				fmt.Println(o.Key, "alive")
			}
		}
	}
	// Output:
	// orders:42 alive
	// refunds not known
}

// A kind is typed in three ways. The empty kind is the one that Redis tells.
func ExampleParseKind() {
	for _, text := range []string{"fair_lock", "fair lock", "fairlock", "", "mutex"} {
		kind, err := fleet.ParseKind(text)
		fmt.Printf("%q %v\n", kind, err == nil)
	}
	// Output:
	// "fair_lock" true
	// "fair_lock" true
	// "fair_lock" true
	// "" true
	// "" false
}

// A viewer has the clients report every second for as long as it looks. The first reports that are so young
// come after some seconds.
func ExampleWatch() {
	rdb, stop := start()
	defer stop()
	ctx := context.Background()

	if err := fleet.Watch(ctx, rdb); err != nil { // again before fleet.WatchLasts is over
		fmt.Println(err)
		return
	}
	report, err := fleet.List(ctx, rdb)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(report.Objects), "objects")
	// Output: 2 objects
}
