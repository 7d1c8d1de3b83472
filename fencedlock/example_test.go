package fencedlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
)

var rdb *redis.Client

// connect is the unseen setup of the examples: a Redis of their own.
func connect() func() {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return func() {
		_ = rdb.Close()
		server.Close()
	}
}

func Example() {
	defer connect()()
	ctx := context.Background()
	lock, guard := fencedlock.New(rdb, "orders:42"), fencedlock.NewGuard(rdb, "orders:42")

	hold, err := lock.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hold.Unlock(ctx)
	err = guard.For(hold).Set(ctx, "{orders:42}:state", "paid")
	fmt.Println(hold.Token(), err)
	// Output: 1 <nil>
}

func ExampleLock_Lock() {
	defer connect()()
	ctx := context.Background()
	lock := fencedlock.New(rdb, "orders:42")

	for range 3 {
		hold, err := lock.Lock(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(hold.Token())
		_ = hold.Unlock(ctx)
	}
	// Output:
	// 1
	// 2
	// 3
}

// The counter of the tokens is lost, and the tokens grow all the same.
func ExampleWithClockTokens() {
	defer connect()()
	ctx := context.Background()
	lock := fencedlock.New(rdb, "orders:42", fencedlock.WithClockTokens())

	var tokens []int64
	for range 2 {
		hold, err := lock.Lock(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		tokens = append(tokens, hold.Token())
		_ = hold.Unlock(ctx)
		rdb.FlushDB(ctx)
	}
	fmt.Println(tokens[0] < tokens[1])
	// Output: true
}

func ExampleLock_LastToken() {
	defer connect()()
	ctx := context.Background()
	lock := fencedlock.New(rdb, "orders:42")

	_ = lock.Do(ctx, func(context.Context) error { return nil })
	token, err := lock.LastToken(ctx)
	fmt.Println(token, err)
	// Output: 1 <nil>
}

func ExampleNewNonReentrant() {
	defer connect()()
	ctx := context.Background()
	lock := fencedlock.NewNonReentrant(rdb, "orders:42")

	err := lock.Do(ctx, func(ctx context.Context) error {
		_, err := lock.Lock(ctx)
		return err
	})
	fmt.Println(errors.Is(err, redlatch.ErrNotReentrant))
	// Output: true
}

// A holder that was suspended for longer than its lease writes too late, and is refused.
func ExampleGuard() {
	defer connect()()
	ctx := context.Background()
	lock, guard := fencedlock.New(rdb, "orders:42"), fencedlock.NewGuard(rdb, "orders:42")
	const state = "{orders:42}:state" // in the slot of the guard

	suspended, _ := lock.Lock(ctx)
	_, _ = lock.ForceUnlock(ctx) // its lease runs out
	holder, _ := lock.Lock(ctx)

	fmt.Println(guard.For(holder).Set(ctx, state, "shipped"))
	err := guard.For(suspended).Set(ctx, state, "cancelled")
	fmt.Println(errors.Is(err, redlatch.ErrStale))
	fmt.Println(rdb.Get(ctx, state).Val())
	_, _ = holder.Unlock(ctx), suspended.Unlock(ctx)
	// Output:
	// <nil>
	// true
	// shipped
}

// A request is what one process sends to another that writes on its behalf.
type request struct {
	Lock   string
	Number int64
	Holder string
	State  string
}

func (r request) Name() string  { return r.Lock }
func (r request) Token() int64  { return r.Number }
func (r request) Owner() string { return r.Holder }

// The holder has another process write.
func ExampleGuard_For_anotherProcess() {
	defer connect()()
	ctx := context.Background()

	hold, _ := fencedlock.New(rdb, "orders:42").Lock(ctx)
	sent, _ := json.Marshal(request{hold.Name(), hold.Token(), hold.Owner(), "paid"})

	var received request // there
	_ = json.Unmarshal(sent, &received)
	guard := fencedlock.NewGuard(rdb, "orders:42")
	fmt.Println(guard.For(received).Set(ctx, "{orders:42}:state", received.State))
	_ = hold.Unlock(ctx)
	// Output: <nil>
}

// What is read before it is written is claimed first.
func ExampleWriter_Claim() {
	defer connect()()
	ctx := context.Background()
	lock, guard := fencedlock.New(rdb, "stock:7"), fencedlock.NewGuard(rdb, "stock:7")
	const left = "{stock:7}:left"
	_ = rdb.Set(ctx, left, 10, 0)

	hold, _ := lock.Lock(ctx)
	writer := guard.For(hold)
	if err := writer.Claim(ctx); err != nil { // no former holder writes from here on
		fmt.Println(err)
		return
	}
	n, _ := rdb.Get(ctx, left).Int()
	fmt.Println(writer.Set(ctx, left, n-3), rdb.Get(ctx, left).Val())
	_ = hold.Unlock(ctx)
	// Output: <nil> 7
}

// Two owners have the same token because the counter was lost. The guard does not take both.
func ExampleGuard_For() {
	defer connect()()
	ctx := context.Background()
	lock, guard := fencedlock.New(rdb, "orders:42"), fencedlock.NewGuard(rdb, "orders:42")
	const state = "{orders:42}:state"

	former, _ := lock.Lock(ctx)
	_ = rdb.Del(ctx, "orders:42", "redisson_lock_token:{orders:42}") // as a failover may lose them
	holder, _ := lock.Lock(ctx)

	fmt.Println(former.Token(), holder.Token())
	fmt.Println(guard.For(holder).Set(ctx, state, "shipped"))
	fmt.Println(guard.For(former).Set(ctx, state, "cancelled"))
	_, _ = holder.Unlock(ctx), former.Unlock(ctx)
	// Output:
	// 1 1
	// <nil>
	// redlatch: stale fencing token: guard "orders:42" has seen token 1 of "orders:42" from another owner; its counter was lost, and it was issued twice
}

func ExampleWriter_Do() {
	defer connect()()
	ctx := context.Background()
	lock, guard := fencedlock.New(rdb, "orders:42"), fencedlock.NewGuard(rdb, "orders:42")

	hold, _ := lock.Lock(ctx)
	err := guard.For(hold).Do(ctx, "hset", "{orders:42}", "state", "paid", "by", "card")
	fmt.Println(err, rdb.HGetAll(ctx, "{orders:42}").Val())
	_ = hold.Unlock(ctx)
	// Output: <nil> map[by:card state:paid]
}

// An orders table of a store that is not Redis. It keeps the token of the last write in the row and compares it in the
// statement that writes, as a database does with
//
//	UPDATE orders SET state = $1, token = $2 WHERE id = $3 AND token <= $2
//
// and no row updated means that the writer was stale.
type orders struct {
	mu   sync.Mutex
	rows map[int]row
}

type row struct {
	state string
	token int64
}

func (o *orders) update(id int, state string, token int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := o.rows[id].token; last > token {
		return fmt.Errorf("order %d was written with token %d: %w", id, last, redlatch.ErrStale)
	}
	o.rows[id] = row{state, token}
	return nil
}

// A store that is not Redis compares the token in the statement that writes.
func Example_otherStore() {
	defer connect()()
	ctx := context.Background()
	lock, table := fencedlock.New(rdb, "orders:42"), &orders{rows: map[int]row{}}

	suspended, _ := lock.Lock(ctx)
	_, _ = lock.ForceUnlock(ctx) // its lease runs out
	holder, _ := lock.Lock(ctx)

	fmt.Println(table.update(42, "shipped", holder.Token()))
	fmt.Println(table.update(42, "cancelled", suspended.Token()))
	fmt.Println(table.rows[42].state)
	_, _ = holder.Unlock(ctx), suspended.Unlock(ctx)
	// Output:
	// <nil>
	// order 42 was written with token 2: redlatch: stale fencing token
	// shipped
}

// Work inside Do has its token in the context.
func ExampleTokenFrom() {
	defer connect()()
	lock, table := fencedlock.New(rdb, "orders:42"), &orders{rows: map[int]row{}}
	err := lock.Do(context.Background(), func(ctx context.Context) error {
		token, ok := fencedlock.TokenFrom(ctx)
		fmt.Println(token, ok)
		return table.update(42, "paid", token)
	})
	fmt.Println(err)
	// Output:
	// 1 true
	// <nil>
}

// A refusal issues no token, so the next holder's token is one more than the last holder's.
func ExampleLock_TryLock() {
	defer connect()()
	ctx := context.Background()

	first, _ := fencedlock.New(rdb, "orders:42").Lock(ctx)
	_, err := fencedlock.New(rdb, "orders:42").TryLock(ctx)
	fmt.Println(errors.Is(err, redlatch.ErrNotAcquired))
	_ = first.Unlock(ctx)
	second, _ := fencedlock.New(rdb, "orders:42").TryLock(ctx)
	fmt.Println(first.Token(), second.Token())
	_ = second.Unlock(ctx)
	// Output:
	// true
	// 1 2
}

// The work has its token in the context, and does not run where another process has the lock.
func ExampleLock_TryDo() {
	defer connect()()
	ctx := context.Background()
	lock := fencedlock.New(rdb, "orders:42")

	work := func(ctx context.Context) error {
		token, _ := fencedlock.TokenFrom(ctx)
		fmt.Println("with token", token)
		return nil
	}
	fmt.Println(lock.TryDo(ctx, work))
	hold, _ := lock.Lock(ctx)
	fmt.Println(lock.TryDo(ctx, work))
	_ = hold.Unlock(ctx)
	// Output:
	// with token 1
	// true <nil>
	// false <nil>
}

// A lock that was taken by force has another holder at once. The guard keeps the former one out when that has
// a greater token and has written, or claimed.
func ExampleLock_ForceUnlock() {
	defer connect()()
	ctx := context.Background()
	lock, guard := fencedlock.New(rdb, "orders:42"), fencedlock.NewGuard(rdb, "orders:42")
	const state = "{orders:42}:state"

	former, _ := lock.Lock(ctx)
	fmt.Println(lock.ForceUnlock(ctx))
	holder, _ := lock.Lock(ctx)

	fmt.Println(guard.For(former).Set(ctx, state, "cancelled")) // the guard has seen no newer token yet
	fmt.Println(guard.For(holder).Claim(ctx))
	fmt.Println(errors.Is(guard.For(former).Set(ctx, state, "cancelled"), redlatch.ErrStale))
	_, _ = holder.Unlock(ctx), former.Unlock(ctx)
	// Output:
	// true <nil>
	// <nil>
	// <nil>
	// true
}

// A re-entry has a token of its own, and HoldCount counts both for the context of either.
func ExampleLock_HoldCount() {
	defer connect()()
	ctx := context.Background()
	lock := fencedlock.New(rdb, "orders:42")

	outer, _ := lock.Lock(ctx)
	inner, _ := lock.Lock(outer.Context(ctx))
	fmt.Println(lock.HoldCount(inner.Context(ctx)))
	fmt.Println(lock.HoldCount(ctx)) // this context carries no hold
	_, _ = inner.Unlock(ctx), outer.Unlock(ctx)
	// Output:
	// 2 <nil>
	// 0 <nil>
}

// The greatest token that was written with or claimed, and not the last that was issued.
func ExampleGuard_Greatest() {
	defer connect()()
	ctx := context.Background()
	lock, guard := fencedlock.New(rdb, "orders:42"), fencedlock.NewGuard(rdb, "orders:42")

	hold, _ := lock.Lock(ctx)
	fmt.Println(guard.Greatest(ctx))
	_ = guard.For(hold).Claim(ctx)
	fmt.Println(guard.Greatest(ctx))
	_ = hold.Unlock(ctx)
	// Output:
	// 0 <nil>
	// 1 <nil>
}

// The guard asks for tokens only: until a newer hold writes or claims, a hold that has ended may write.
func ExampleWriter_Set() {
	defer connect()()
	ctx := context.Background()
	lock, guard := fencedlock.New(rdb, "orders:42"), fencedlock.NewGuard(rdb, "orders:42")
	const state = "{orders:42}:state"

	first, _ := lock.Lock(ctx)
	writer := guard.For(first)
	_ = first.Unlock(ctx)
	fmt.Println(writer.Set(ctx, state, "paid"))

	second, _ := lock.Lock(ctx)
	fmt.Println(guard.For(second).Set(ctx, state, "shipped"))
	fmt.Println(errors.Is(writer.Set(ctx, state, "paid"), redlatch.ErrStale))
	_ = second.Unlock(ctx)
	// Output:
	// <nil>
	// <nil>
	// true
}
