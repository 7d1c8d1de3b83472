package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redlatch/redlatch"
	reach "github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

// ErrStopped is how Work ends when the parent closes its end of the pipe, or is gone.
var ErrStopped = errors.New("stopped by the parent")

// orders is what the parent tells a worker: the first line of its standard input. It is no command line because the
// URL may hold a password, and command lines are public.
type orders struct {
	URL      string
	ID       string // of the run
	Worker   int    // from 1
	FatalJob int    // whoever takes this one first stands still and is killed; 0 for none
}

// lastBreath is how long a stopped worker may take to give back what it has. Locks end without it as well.
const lastBreath = 2 * time.Second

// Work is a worker process. It ends when all jobs are done, or when stdin does.
func Work(stdin io.Reader) error {
	return workWith(stdin, nil)
}

// workWith lets a test take something away from the worker's tools.
func workWith(stdin io.Reader, spoil func(t *tools)) error {
	input := bufio.NewReader(stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return errors.New("redlatch: this command is for redlatch demo, which starts it")
	}
	var o orders
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("redlatch: cannot read what the demo wants: %w", err)
	}
	client, err := connect(o.URL)
	if err != nil {
		return err
	}
	defer reach.Close(client)
	reach.Announce(client) // so that a worker which is killed early has a name as well

	// The pipe is never written to again: a read ends when the parent closes it, or dies in whatever way.
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	go func() {
		_, _ = io.Copy(io.Discard, input) // how it ends does not matter
		stop(ErrStopped)
		time.AfterFunc(lastBreath, func() { os.Exit(1) })
	}()

	n := namesOf(o.ID)
	lock := rlock.New(client, n.lock(), redlatch.WithWatchdogTimeout(lease))
	permits := semaphore.New(client, n.semaphore())
	w := &worker{
		orders: o, names: n, client: client,
		start:  countdownlatch.New(client, n.start()),
		finish: countdownlatch.New(client, n.finish()),
		tools: tools{
			exclusive: func(ctx context.Context, fn func(context.Context) error) error { return lock.Do(ctx, fn) },
			admitted: func(ctx context.Context, fn func(context.Context) error) error {
				return permits.Do(ctx, 1, fn)
			},
			present: func(ctx context.Context, worker int) (bool, error) {
				return rlock.New(client, n.presence(worker)).IsLocked(ctx)
			},
		},
	}
	if spoil != nil {
		spoil(&w.tools)
	}
	presence := rlock.New(client, n.presence(o.Worker), redlatch.WithWatchdogTimeout(lease))
	err = presence.Do(ctx, w.live)
	switch {
	case context.Cause(ctx) == ErrStopped:
		return ErrStopped
	case errors.Is(err, redlatch.ErrLost):
		// Whoever took over knows better; the entry says that this worker did nothing more.
		return errors.Join(err, n.record(context.WithoutCancel(ctx), client, entry{kind: lost, worker: o.Worker}))
	default:
		return err
	}
}
