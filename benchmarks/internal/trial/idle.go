package trial

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

const idleWaiters = 64

// settling is how long waiters have to ask, to subscribe and to ask again, before they are watched.
const settling = time.Second

// waiters counts what many waiters in one process ask for while the key stays taken by another client.
func (t *Trial) waiters(ctx context.Context, results *report.Results) error {
	for _, l := range t.libraries() {
		if !l.Contends {
			continue
		}
		row, err := t.waitersOf(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		results.Waiters = append(results.Waiters, row)
	}
	return nil
}

func (t *Trial) waitersOf(ctx context.Context, l library.Library) (row report.Waiters, err error) {
	config := t.config(t.Server.Addr)
	config.Lease = 3 * (settling + t.Idle) // nothing is renewed meanwhile
	holder, err := l.Open(config)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, holder.Close()) }()
	key := prefix + "waiters/" + l.Name
	held, err := holder.Handle(key)
	if err != nil {
		return row, err
	}
	if err := held.Lock(ctx); err != nil {
		return row, err
	}
	client, err := l.Open(config)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	time.Sleep(settling / 4) // what opening has started has ended
	goroutines := runtime.NumGoroutine()
	var wg sync.WaitGroup
	got := make([]error, idleWaiters)
	for i := range idleWaiters {
		handle, err := client.Handle(key)
		if err != nil {
			return row, err
		}
		wg.Go(func() { got[i] = handle.Lock(ctx) })
	}
	time.Sleep(settling)
	before, err := t.Server.Counts()
	if err != nil {
		return row, err
	}
	time.Sleep(t.Idle)
	after, err := t.Server.Counts()
	row = report.Waiters{
		Library: l.Name, Waiters: idleWaiters, Goroutines: max(0, runtime.NumGoroutine()-goroutines-idleWaiters),
		Commands: float64(server.Between(before, after, l.Sends).Commands) / t.Idle.Seconds(),
	}
	cancel()
	wg.Wait()
	for _, end := range got {
		if end == nil {
			return row, errors.New("a waiter got the key of a living holder")
		}
	}
	return row, errors.Join(err, held.Unlock(context.Background()))
}

// holdLease is short, so that three terms of renewals are soon over.
const holdLease = 6 * time.Second

// holds weighs many held keys, and counts what keeping them alive asks of the server in a third of the lease.
func (t *Trial) holds(ctx context.Context, results *report.Results) error {
	for _, l := range t.libraries() {
		if !l.Contends || l.Name == library.OneKeyFloor {
			continue
		}
		row, err := t.holdsOf(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		results.Holds = append(results.Holds, row)
	}
	return t.Server.Forget("*" + prefix + "*")
}

func (t *Trial) holdsOf(ctx context.Context, l library.Library) (row report.Holds, err error) {
	config := t.config(t.Server.Addr)
	config.Lease = holdLease
	if !l.Renews {
		config.Lease = 10 * time.Minute // or they would be gone before they are given back
	}
	client, err := l.Open(config)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	names := make([]string, t.Holds)
	for i := range names {
		names[i] = fmt.Sprintf("%sholds/%s/%d", prefix, l.Name, i)
	}
	warm := make([]library.Handle, idleWaiters) // connections are not what a hold costs
	for i := range warm {
		if warm[i], err = client.Handle(fmt.Sprintf("%sholds/warm/%s/%d", prefix, l.Name, i)); err != nil {
			return row, err
		}
	}
	if err := each(ctx, warm, library.Handle.Lock); err != nil {
		return row, err
	}
	if err := each(ctx, warm, library.Handle.Unlock); err != nil {
		return row, err
	}

	handles := make([]library.Handle, len(names))
	start := weigh()
	for i, name := range names {
		if handles[i], err = client.Handle(name); err != nil {
			return row, err
		}
	}
	bare := weigh()
	if err := each(ctx, handles, library.Handle.Lock); err != nil {
		return row, err
	}
	held := weigh()
	row = report.Holds{
		Library: l.Name, Holds: len(names), Renews: l.Renews, Goroutines: max(0, held.goroutines-bare.goroutines),
		Bytes: float64(max(0, held.bytes-bare.bytes)) / float64(len(names)), Handles: float64(max(0, bare.bytes-start.bytes)) / float64(len(names)),
	}
	if l.Renews {
		const terms = 3
		before, err := t.Server.Counts()
		if err != nil {
			return row, err
		}
		time.Sleep(terms * holdLease / 3)
		after, err := t.Server.Counts()
		if err != nil {
			return row, err
		}
		row.Commands = float64(server.Between(before, after, l.Sends).Commands) / terms
	}
	return row, each(ctx, handles, library.Handle.Unlock)
}

// each calls do for all handles, some at a time, and returns the first error. It gives them the context that it was
// given and none of its own: there are libraries that let go of what they hold when the context of the taking ends.
func each(ctx context.Context, handles []library.Handle, do func(library.Handle, context.Context) error) error {
	next := make(chan library.Handle)
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	for range idleWaiters {
		wg.Go(func() {
			for handle := range next {
				if err := do(handle, ctx); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for _, handle := range handles {
		next <- handle
	}
	close(next)
	wg.Wait()
	return first
}

type weight struct {
	goroutines int
	bytes      int64 // of the heap and of the stacks
}

// weigh waits a moment for what ends by itself: the goroutines of a burst, and what the collector finds at second sight.
func weigh() weight {
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return weight{runtime.NumGoroutine(), int64(m.HeapAlloc + m.StackInuse)}
}
