package demo

import (
	"errors"
	"fmt"
	"math"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
)

// lease is how long a lock outlives its holder here; the library's default of 30 s would make a long demo.
const lease = 2 * time.Second

// Config is what a demo is to do.
type Config struct {
	Workers int
	Jobs    int
	Permits int
	Kill    bool          // one worker while it holds the lock
	URL     string        // of the server; empty for an embedded one
	Timeout time.Duration // for everything up to the verdict

	Worker func() *exec.Cmd // a process that calls Work with its standard input
	Watch  Watcher          // is told what happens
}

const urlForm = "redis://[user:password@]host:port[/database], rediss:// in its place for TLS, or unix:///path/to/socket"

// Check tells what makes no sense, by the name of the flag.
func (c *Config) Check() error {
	switch {
	case c.Workers < 1 || c.Workers > 64:
		return fmt.Errorf("--workers %d: give a number from 1 to 64", c.Workers)
	case c.Jobs < 1 || c.Jobs > 10_000:
		return fmt.Errorf("--jobs %d: give a number from 1 to 10000", c.Jobs)
	case c.Permits < 1 || c.Permits > math.MaxInt32:
		return fmt.Errorf("--permits %d: give 1 or more", c.Permits)
	case c.Timeout < time.Second:
		return fmt.Errorf("--timeout %v: give a second or more, such as 60s", c.Timeout)
	case c.Kill && c.Workers == 1:
		return errors.New("--workers 1: when the only worker is killed nobody takes over; give 2 or more, or --no-kill")
	}
	if c.URL != "" {
		if _, err := redis.ParseURL(c.URL); err != nil {
			// The error of net/url quotes the URL, which may hold a password.
			return errors.New("--url or REDLATCH_URL: give " + urlForm)
		}
	}
	return nil
}

// fatalJob is the job whose first taker is killed: early enough that most work comes after it. 0 is none.
func (c *Config) fatalJob() int {
	if !c.Kill {
		return 0
	}
	return c.Jobs/3 + 1
}

// connect makes a client for the library and for the evidence alike. go-redis would resend a command whose reply was
// lost; INCR and XADD would then count twice, and a fault of the network would look like one of a lock. The library
// resends by its own rules.
func connect(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	options.MaxRetries = -1
	return redis.NewClient(options), nil
}
