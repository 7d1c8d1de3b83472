// Start-barrier lets workers begin together, and waits until all are done.
//
//	go run ./examples/start-barrier
//	go run ./examples/start-barrier -dead 2    # worker 2 dies before it is ready
//
// Three latches: the workers count down "ready", the coordinator opens "start" when all are, the workers count down
// "done". What was counted down stays so when its process is killed. A second start that met the latches of the first
// would take its dead workers for ready ones, so each run has a name of its own, which its workers are told.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/examples/internal/connect"
	"github.com/redlatch/redlatch/examples/internal/notice"
)

const workers = 4

func main() {
	dead := flag.Int("dead", -1, "the worker that dies before it is ready")
	limit := flag.Duration("limit", time.Minute, "how long the workers may take to get ready, and then to be done")
	flag.Parse()
	if err := run(context.Background(), *dead, *limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// latches are those of one run, as one process sees them.
type latches struct{ ready, start, done *countdownlatch.Latch }

func of(run string, rdb *redis.Client) latches {
	latch := func(what string) *countdownlatch.Latch {
		return countdownlatch.New(rdb, "example:barrier:"+run+":"+what)
	}
	return latches{latch("ready"), latch("start"), latch("done")}
}

func run(ctx context.Context, dead int, limit time.Duration) error {
	server := connect.Open()
	defer server.Close()

	name := rand.Text()
	own := of(name, server.Client())
	fmt.Println("run", name)
	// A latch ends with its TTL, for a worker may die and never count. The ready latch ends first: what is missing is told
	// by the latch at which it is missing.
	if err := errors.Join(
		set(ctx, own.ready, workers, limit), set(ctx, own.start, 1, 2*limit), set(ctx, own.done, workers, 3*limit),
	); err != nil {
		return err
	}

	group, ctx := errgroup.WithContext(ctx)
	for worker := range workers {
		if worker == dead {
			continue
		}
		rdb := server.Client()
		group.Go(func() error { return work(ctx, of(name, rdb), worker) })
	}
	group.Go(func() error { return coordinate(ctx, own) })
	return group.Wait()
}

// set sets the count before the work begins. No latch of this run can be there already: false would mean that two runs
// have one name, and neither may go on.
func set(ctx context.Context, latch *countdownlatch.Latch, count int64, ttl time.Duration) error {
	switch first, err := latch.TrySetCount(ctx, count, redlatch.WithTTL(ttl)); {
	case err != nil:
		return err
	case !first:
		return fmt.Errorf("%s is set already", latch.Name())
	}
	return nil
}

func coordinate(ctx context.Context, run latches) error {
	if err := await(ctx, run.ready, "the coordinator", fmt.Sprintf("of %d workers to get ready", workers)); err != nil {
		return fmt.Errorf("not all workers have become ready: %w", err)
	}
	fmt.Println("all are ready: go")
	if err := run.start.CountDown(ctx); err != nil {
		return err
	}
	if err := await(ctx, run.done, "the coordinator", fmt.Sprintf("of %d workers to be done", workers)); err != nil {
		return fmt.Errorf("not all workers are done: %w", err)
	}
	fmt.Println("all are done")
	return nil
}

func work(ctx context.Context, run latches, worker int) error {
	name := fmt.Sprintf("worker %d", worker)
	time.Sleep(time.Duration(worker) * 50 * time.Millisecond) // some take longer to get ready
	fmt.Println(name, "is ready")
	if err := run.ready.CountDown(ctx); err != nil {
		return err
	}
	if err := await(ctx, run.start, name, "signal to start"); err != nil {
		return fmt.Errorf("%s got no signal to start: %w", name, err)
	}
	fmt.Println(name, "runs")
	return run.done.CountDown(ctx)
}

// await waits, and says for how many of what.
func await(ctx context.Context, latch *countdownlatch.Latch, who, what string) error {
	waited := notice.While(who, func(ctx context.Context) string {
		left, err := latch.Count(ctx)
		if err != nil {
			return fmt.Sprintf("%s, of which nothing is known: %v", what, err)
		}
		return fmt.Sprintf("%d %s", left, what)
	})
	defer waited()
	return latch.Await(ctx) // nil only if all were counted down
}
