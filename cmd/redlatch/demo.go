package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/demo"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/duration"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

const demoHelp = `Starts worker processes that share numbered jobs: they take them under a lock, run them inside a semaphore and count
them off on a latch. One worker is killed while it holds the lock. At the end it is verified, from a journal that the
workers keep in Redis, that every job was done exactly once, that no two workers held the lock at a time, and that no more
than --permits ran a job. The exit code is 0 if all of it holds, 1 if not, and 130 after Ctrl-C.

Without --url and REDLATCH_URL the server is an embedded one, and nothing needs to be installed. On a server of yours
all keys begin with a random name of this run, have a TTL, and are removed at the end. Of the flags of the connection the
demo heeds --url alone, with redis://, rediss:// or unix://.`

type demoCommand struct {
	Workers int               `default:"4" placeholder:"N" help:"Worker processes (${default})."`
	Jobs    int               `default:"24" placeholder:"N" help:"Jobs (${default})."`
	Permits int               `default:"2" placeholder:"N" help:"How many workers may run a job at the same time (${default})."`
	Kill    bool              `negatable:"" default:"true" help:"Kill one worker; --no-kill lets every worker live."`
	Timeout duration.Duration `default:"60s" placeholder:"D" help:"Give up after this time, with its unit: 90s, 2m (${default})."`
	JSON    bool              `name:"json" help:"Print the result as JSON on stdout, as -o json does; progress goes to stderr."`
}

// Help is the text below the flags.
func (*demoCommand) Help() string { return demoHelp }

// Run plays the demo.
func (d *demoCommand) Run(c call) error {
	config := demo.Config{
		Workers: d.Workers, Jobs: d.Jobs, Permits: d.Permits, Kill: d.Kill,
		URL: c.Connect.URL, Timeout: time.Duration(d.Timeout),
	}
	if err := config.Check(); err != nil {
		return exit.With(exit.Usage, err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find the program to start as workers: %w", err)
	}
	config.Worker = func() *exec.Cmd { return exec.Command(self, "demo-worker") }

	asJSON := d.JSON || c.Output == "json"
	out := c.stdout
	if asJSON {
		out = c.stderr
	}
	screen := demo.NewScreen(out)
	config.Watch = screen

	ctx, stop := interruptible()
	defer stop()
	result, err := demo.Run(ctx, config)
	if result == nil { // else the error is one of its reasons
		screen.Close()
		if ctx.Err() != nil {
			return exit.With(exit.Interrupted, err)
		}
		return exit.With(exit.Failed, err)
	}
	screen.Result(result)
	if asJSON {
		if err := c.document(result); err != nil {
			return err
		}
	}
	switch {
	case result.Interrupted:
		return exit.Silently(exit.Interrupted)
	case !result.OK || err != nil:
		return exit.Silently(exit.Failed)
	default:
		return nil
	}
}

// A demoWorker is one worker process of a demo.
type demoWorker struct{}

// Run works until the jobs are done. Ctrl-C reaches the whole process group of a terminal; the worker leaves it to the
// parent, which then stops its workers in order.
func (*demoWorker) Run(c call) error {
	signal.Ignore(os.Interrupt)
	err := demo.Work(c.stdin)
	if errors.Is(err, demo.ErrStopped) {
		return exit.Silently(exit.Failed)
	}
	return err
}
