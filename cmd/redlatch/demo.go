package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/demo"
)

const (
	urlVariable   = "REDLATCH_URL"
	workerCommand = "demo-worker" // how the demo starts itself as a worker
)

const demoHelp = `usage: redlatch demo [flags]

Starts worker processes that share numbered jobs: they take them under a lock, run them inside a semaphore and count
them off on a latch. One worker is killed while it holds the lock. At the end it is verified, from a journal that the
workers keep in Redis, that every job was done exactly once and that nobody was where they should not have been. The
exit code is 0 if all of it holds, 1 if not, and 130 after Ctrl-C.

Without --url and REDLATCH_URL the server is an embedded one, and nothing needs to be installed. On a server of yours
all keys begin with a random name of this run, have a TTL, and are removed at the end.

  --workers N    worker processes (4)
  --jobs N       jobs (24)
  --permits N    how many workers may run a job at the same time (2)
  --no-kill      let every worker live
  --url URL      use a server of yours:
                   redis://[user:password@]host:port[/database]
                   rediss://...                                    with TLS
                   unix://[user:password@]/path/to/socket[?db=1]
  --timeout D    give up after this time, with its unit: 90s, 2m (60s)
  --json         print the result as JSON on stdout; progress goes to stderr
`

func runDemo(c call) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	config := demo.Config{}
	flags.IntVar(&config.Workers, "workers", 4, "")
	flags.IntVar(&config.Jobs, "jobs", 24, "")
	flags.IntVar(&config.Permits, "permits", 2, "")
	flags.StringVar(&config.URL, "url", "", "")
	config.Timeout = time.Minute
	flags.Func("timeout", "", func(text string) (err error) {
		config.Timeout, err = duration(text)
		return err
	})
	noKill := flags.Bool("no-kill", false, "")
	asJSON := flags.Bool("json", false, "")
	if code, ok := c.parse(flags, func(w io.Writer) { io.WriteString(w, demoHelp) }); !ok {
		return code
	}
	config.Kill = !*noKill
	config.URL = cmp.Or(config.URL, os.Getenv(urlVariable))
	if err := config.Check(); err != nil {
		return c.misuse("demo", err.Error())
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(c.stderr, "redlatch demo: cannot find the program to start as workers: %v\n", err)
		return exitFailed
	}
	config.Worker = func() *exec.Cmd { return exec.Command(self, workerCommand) }

	out := c.stdout
	if *asJSON {
		out = c.stderr
	}
	screen := demo.NewScreen(out)
	config.Watch = screen

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once

	result, err := demo.Run(ctx, config)
	if result == nil { // else the error is one of its reasons
		screen.Close()
		fmt.Fprintf(c.stderr, "redlatch demo: %v\n", err)
		if ctx.Err() != nil {
			return exitInterrupted
		}
		return exitFailed
	}
	screen.Result(result)
	if *asJSON {
		encoder := json.NewEncoder(c.stdout)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(result); err != nil {
			fmt.Fprintf(c.stderr, "redlatch demo: cannot write the result: %v\n", err)
			return exitFailed
		}
	}
	switch {
	case result.Interrupted:
		return exitInterrupted
	case !result.OK || err != nil:
		return exitFailed
	default:
		return exitOK
	}
}

// duration is time.ParseDuration with a word on units for a number alone, which is what people give.
func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if _, bare := strconv.ParseFloat(text, 64); err != nil && bare == nil {
		return 0, fmt.Errorf("say the unit, as in %ss for seconds or %sm for minutes", text, text)
	}
	if err != nil {
		return 0, errors.New("give a time with its unit, such as 90s or 2m")
	}
	return d, nil
}

// runWorker is one worker process of a demo. Ctrl-C reaches the whole process group of a terminal; the worker leaves
// it to the parent, which then stops its workers in order.
func runWorker(c call) int {
	signal.Ignore(os.Interrupt)
	if err := demo.Work(c.stdin); err != nil {
		if !errors.Is(err, demo.ErrStopped) {
			fmt.Fprintln(c.stderr, err)
		}
		return exitFailed
	}
	return exitOK
}
