//go:build unix

package run

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/guard"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

// nested is for a run of a lock within a run of the same lock. It becomes the command: the guard of the outer run guards all
// descendants of its command, and the outer lock is held until they have ended. When it answers false, this run is none.
func (c *Config) nested(path string, signals chan<- os.Signal) (is bool, err error) {
	owner := os.Getenv(ownerVariable)
	outer := Mode(os.Getenv(modeVariable))
	if owner == "" || os.Getenv(nameVariable) != c.Name || c.Mode == Permits || outer == Permits || (outer == Lock) != (c.Mode == Lock) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	info, err := c.inspect(ctx)
	if err != nil || !holds(info, owner, side(outer)) {
		return false, nil // the wait finds out why Redis does not answer
	}
	switch {
	case !guarded():
		return true, exit.With(c.Busy, &busyError{fmt.Errorf("%q is held by the run around this one, whose guard cannot be reached; "+
			"do not close inherited descriptors, and do not run it with --close", c.Name)})
	case c.Mode == Write && outer == Read:
		return true, exit.With(c.Busy, &busyError{redlatch.ErrUpgrade})
	}
	signal.Stop(signals)
	return true, fmt.Errorf("%s: cannot be executed: %w", path, syscall.Exec(path, c.Args, os.Environ()))
}

func (c *Config) inspect(ctx context.Context) (redlatch.Info, error) {
	if c.Mode == Lock {
		return rlock.New(c.Client, c.Name).Inspect(ctx)
	}
	return rwlock.New(c.Client, c.Name).Inspect(ctx)
}

func side(m Mode) string {
	if m == Lock {
		return ""
	}
	return string(m)
}

// guarded tells whether the pipe of the guard has been inherited, and its other end is open, as it is while the guard lives.
func guarded() bool {
	number, inode, _ := strings.Cut(os.Getenv(guard.LifeVariable), ":")
	fd, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	var about syscall.Stat_t
	if syscall.Fstat(fd, &about) != nil || about.Mode&syscall.S_IFMT != syscall.S_IFIFO || fmt.Sprint(about.Ino) != inode {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err = unix.Poll(poll, 0)
	return err == nil && poll[0].Revents&unix.POLLHUP == 0
}
