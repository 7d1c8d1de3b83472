//go:build unix

package run

import (
	"context"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/guard"
	"github.com/redlatch/redlatch/internal/clock"
)

// A terminal is the one at stdin, while this process's group is its foreground group. Its methods may be called for nil.
type terminal struct {
	own int // this process's group
}

func foregroundTerminal() *terminal {
	own := syscall.Getpgrp()
	if group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err != nil || group != own {
		return nil
	}
	return &terminal{own}
}

// ignoreOutputStops lets this process change the foreground group while it is in the background.
func (t *terminal) ignoreOutputStops() {
	if t != nil {
		signal.Ignore(syscall.SIGTTOU)
	}
}

// takeBack makes this process's group the foreground group.
func (t *terminal) takeBack() {
	if t != nil {
		t.give(t.own)
	}
}

func (t *terminal) give(group int) {
	_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group) // the terminal may have been hung up
}

// foreground tells whether the shell has put this process's group there, as fg does and bg does not.
func (t *terminal) foreground() bool {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == t.own
}

// suspend stops this process too, as the shell expects of a job, and returns when the shell has it go on. The lock may have
// been lost meanwhile, so Redis is asked before the command goes on. The guard is not stopped: it ends the command when the
// trust does.
func (h *holder) suspend() {
	h.terminal.takeBack()
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	if h.Over(clock.Boot()) || !h.held.confirm(ctx) {
		return // watch finds out why, and ends the command
	}
	if h.terminal.foreground() {
		h.terminal.give(h.pid)
	}
	h.guard.send(guard.Order{Kind: guard.Resume})
}
