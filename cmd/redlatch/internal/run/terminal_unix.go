//go:build unix

package run

import (
	"context"
	"errors"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
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

// shellWaits tells whether a parent in the same session can have this process go on again.
func shellWaits() bool {
	if syscall.Getppid() == 0 { // process 1, which cannot be stopped
		return false
	}
	own, err := unix.Getsid(0)
	parents, err2 := unix.Getsid(syscall.Getppid())
	return err == nil && err2 == nil && own == parents
}

// stop returns when this process goes on. The other threads may stop a little later than this one has asked for it, so only the
// signal tells: what is asked after it is asked after the stop.
func (h *holder) stop() {
	for len(h.signals) > 0 {
		h.forward(<-h.signals) // an old SIGCONT among them
	}
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	for s := range h.signals {
		if s == syscall.SIGCONT {
			return
		}
		h.forward(s)
	}
}

// suspend stops this process too, as the shell expects of a job, and returns when the shell has it go on. The lock may have
// been lost meanwhile, so Redis is asked before the command goes on. The guard is not stopped: it ends the command when the
// trust does.
func (h *holder) suspend() {
	h.terminal.takeBack()
	if shellWaits() {
		h.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	own, err := h.held.confirm(ctx)
	switch {
	case h.Over(clock.Boot()), err != nil:
		return // watch ends the command when the trust does, or the watchdog may reach Redis before
	case !own:
		descendants.Signal(syscall.SIGKILL, h.leader, h.guard.pid) // before it is continued for SIGTERM, because another may have the lock
		h.lose(errors.New("it was taken away while the job was stopped"))
		return
	}
	if h.terminal.foreground() {
		h.terminal.give(h.pid)
	}
	h.guard.send(guard.Order{Kind: guard.Resume})
}
