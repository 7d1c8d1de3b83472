// Config-reload changes several keys as one, while many processes read them.
//
//	go run ./examples/config-reload
//
// Readers share; the process that changes the configuration has it alone, and reads it back under the same lock before
// another can change it: a downgrade. A lock ends with its process, but half a change does not. So the writer notes
// first what it is about to do, and the next process that gets in carries out what it finds noted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/examples/internal/connect"
	"github.com/redlatch/redlatch/examples/internal/notice"
	"github.com/redlatch/redlatch/rwlock"
)

// The host always ends with the number of the port: host-7:7.
const (
	hostKey  = "example:host"
	portKey  = "example:port"
	noteKey  = "example:config:note" // the port that a writer is changing to; absent when no change is under way
	keptFor  = time.Hour             // so that the example leaves nothing behind
	writing  = 20 * time.Millisecond // how long the configuration is neither the old nor the new one
	watchdog = 3 * time.Second       // how long a process that was killed keeps the lock
)

// A process is one of those that share the configuration.
type process struct {
	name string
	rdb  *redis.Client
	lock *rwlock.Lock
}

func newProcess(name string, rdb *redis.Client) *process {
	return &process{name, rdb, rwlock.New(rdb, "example:config", redlatch.WithWatchdogTimeout(watchdog))}
}

func main() {
	server := connect.Open()
	defer server.Close()

	if err := newProcess("the first", server.Client()).setUp(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	group, ctx := errgroup.WithContext(context.Background())
	for reader := range 4 {
		p := newProcess(fmt.Sprintf("reader %d", reader), server.Client())
		group.Go(func() error { return p.readOften(ctx) })
	}
	writer := newProcess("the writer", server.Client())
	group.Go(func() error { return writer.reload(ctx) })
	if err := group.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// setUp makes the first configuration where there is none.
func (p *process) setUp(ctx context.Context) error {
	return p.alone(ctx, func(ctx context.Context) error {
		port, err := p.finish(ctx)
		if err != nil || port > 0 {
			return err
		}
		return p.change(ctx, 1)
	})
}

// alone runs fn under the writer's lock.
func (p *process) alone(ctx context.Context, fn func(ctx context.Context) error) error {
	waited := notice.Lock(p.name, p.lock)
	defer waited()
	return p.lock.Do(ctx, func(ctx context.Context) error {
		waited()
		return fn(ctx)
	})
}

// change replaces the configuration. The caller has the writer's lock.
func (p *process) change(ctx context.Context, port int) error {
	if err := p.rdb.Set(ctx, noteKey, port, keptFor).Err(); err != nil {
		return err
	}
	return p.carryOut(ctx, port)
}

// carryOut does what is noted. Doing it again does no harm. It stops when the lock is lost; the note stays then.
func (p *process) carryOut(ctx context.Context, port int) error {
	if err := p.rdb.Set(ctx, hostKey, fmt.Sprintf("host-%d", port), keptFor).Err(); err != nil {
		return err
	}
	time.Sleep(writing) // no reader sees the state in between
	if err := p.rdb.Set(ctx, portKey, port, keptFor).Err(); err != nil {
		return err
	}
	return p.rdb.Del(ctx, noteKey).Err()
}

// finish carries out what a writer noted that was killed, and returns the port, which is 0 before the first
// configuration. The caller has the writer's lock.
func (p *process) finish(ctx context.Context) (port int, err error) {
	switch noted, err := p.rdb.Get(ctx, noteKey).Int(); {
	case err == nil:
		fmt.Printf("%s finishes the change to host-%d:%d\n", p.name, noted, noted)
		return noted, p.carryOut(ctx, noted)
	case !errors.Is(err, redis.Nil):
		return 0, err
	}
	port, err = p.rdb.Get(ctx, portKey).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return port, err
}

// read returns the configuration. If it finds a note it does not trust the keys: no writer is at work beside a reader,
// so the one that made the note was killed, or lost its lock.
func (p *process) read(ctx context.Context) (host, port string, err error) {
	for {
		whole := false
		waited := notice.Lock(p.name, p.lock)
		err := p.lock.RDo(ctx, func(ctx context.Context) error {
			waited()
			noted, err := p.rdb.Exists(ctx, noteKey).Result()
			if err != nil || noted > 0 {
				return err
			}
			whole = true
			if host, err = p.rdb.Get(ctx, hostKey).Result(); err != nil {
				return err
			}
			port, err = p.rdb.Get(ctx, portKey).Result()
			return err
		})
		waited()
		if err != nil || whole {
			return host, port, err
		}
		if err := p.setUp(ctx); err != nil { // a reader's lock cannot become a writer's, so it was given back before
			return "", "", err
		}
	}
}

// readOften looks at both keys a few times. They always belong together.
func (p *process) readOften(ctx context.Context) error {
	for range 5 {
		host, port, err := p.read(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s:%s\n", p.name, host, port)
		if host != "host-"+port {
			return fmt.Errorf("%s saw half a change: %s:%s", p.name, host, port)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// reload changes to the next configuration, keeps reading what it wrote, and lets the other readers in meanwhile.
func (p *process) reload(ctx context.Context) error {
	time.Sleep(30 * time.Millisecond)
	waited := notice.Lock(p.name, p.lock)
	write, err := p.lock.Lock(ctx)
	waited()
	if err != nil {
		return err
	}
	defer write.Unlock(ctx) // for the errors on the way; at the end it has been given back, and nothing happens
	alone := write.Context(ctx)
	port, err := p.finish(alone)
	if err != nil {
		return err
	}
	if err := p.change(alone, port+1); err != nil {
		return err
	}
	read, err := p.lock.RLock(alone) // with the context of the writer's hold: a downgrade
	if err != nil {
		return err
	}
	defer read.Unlock(ctx)
	if err := write.Unlock(ctx); err != nil {
		return err
	}
	shared := read.Context(ctx)
	fmt.Println("changed to", p.rdb.Get(shared, hostKey).Val()+":"+p.rdb.Get(shared, portKey).Val())
	return read.Unlock(ctx)
}
