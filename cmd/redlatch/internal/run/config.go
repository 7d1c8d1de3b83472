package run

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config is what is to be run, and under what.
type Config struct {
	Client   redis.UniversalClient
	Server   string // as people may see it
	URL      string // of the server, without passwords; for runs within this one
	Name     string
	Mode     Mode
	Permits  int64 // of Permits: how many commands may run at the same time
	Once     bool  // do not wait
	Wait     time.Duration
	Busy     int // the exit code when the lock is taken
	Lease    time.Duration
	Kill     time.Duration // between SIGTERM and SIGKILL
	AtLeast  time.Duration // the lock stays taken for so long after it was acquired, whatever becomes of the command; 0: no longer than that
	MaxHold  time.Duration // the command is ended after so long; 0: it is not
	Quiet    bool          // nothing is said of a lock that is taken, of the wait for it, and of an outage that passes
	Watched  bool          // a person sees what is said
	Label    string        // what tools that list locks show of this run
	Close    bool          // release with the command, not with the last of its descendants
	Result   string        // file for what happened
	Args     []string
	Complain func(format string, args ...any) // to the user
}

// A Mode is what is taken.
type Mode string

// The modes.
const (
	Lock    Mode = "lock"
	Read    Mode = "read"
	Write   Mode = "write"
	Permits Mode = "permits"
)

// Limits of a lease: below the first the schedule leaves no time for two renewals on a busy machine.
const (
	MinLease     = 2 * time.Second
	DefaultLease = 30 * time.Second
)

// The least that --at-least and --max-hold can be.
const (
	MinAtLeast = time.Second
	MinMaxHold = time.Second
)

// Check tells what makes no sense, by the name of the flag. It fills in what was left out.
func (c *Config) Check() error {
	if c.Kill < 0 {
		c.Kill = min(5*time.Second, c.Lease/6)
	}
	switch {
	case c.Name == "":
		return errors.New("give the lock a name")
	case len(c.Args) == 0:
		return errors.New("give a command, as in: redlatch run NAME -- command arguments")
	case c.Lease < MinLease:
		return fmt.Errorf("--lease %v: give %v or more", c.Lease, MinLease)
	case c.Kill > c.Lease/3:
		return fmt.Errorf("--kill-after %v: give a third of the lease (%v) or less, or nothing would be left for a short outage", c.Kill, c.Lease/3)
	case c.Busy < 0 || c.Busy > 255:
		return fmt.Errorf("-E %d: give an exit code from 0 to 255", c.Busy)
	case c.AtLeast < 0 || c.AtLeast > 0 && c.AtLeast < MinAtLeast:
		return fmt.Errorf("--at-least %v: give %v or more", c.AtLeast, MinAtLeast)
	case c.AtLeast > 0 && c.Mode == Permits:
		return errors.New("--at-least is for a lock, not for one of several permits; leave out -N or --at-least")
	case c.MaxHold < 0 || c.MaxHold > 0 && c.MaxHold < MinMaxHold:
		return fmt.Errorf("--max-hold %v: give %v or more", c.MaxHold, MinMaxHold)
	case c.Mode == Permits && (c.Permits < 1 || c.Permits > math.MaxInt32):
		return fmt.Errorf("-N %d: give 1 or more", c.Permits)
	}
	return nil
}
