//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/guard"
	"github.com/redlatch/redlatch/internal/clock"
)

// A holder is this process from the moment on at which it has the lock.
type holder struct {
	guard.Deadline
	config  *Config
	held    *held
	signals <-chan os.Signal
	result  *Result

	guard    *guardProcess
	terminal *terminal // nil if stdin is none
	pid      int       // of the command, and its process group; 0 until it is started
	leader   descendants.Leader
	status   *syscall.WaitStatus
	refused  syscall.Errno
	gone     bool          // no descendant of the guard is left
	lost     error         // why
	asked    bool          // the command was told to end after a request for the lock
	limit    time.Duration // of clock.Boot: when the command has run for too long; 0: never
	tooLong  bool          // it has
	asking   bool          // why a renewal is overdue
	warned   bool          // of an outage that lasts
}

// hold runs the command and returns when nothing of it is left, or when it has ended and the config says that this is enough.
func (h *holder) hold(path string) error {
	h.Deadline = guard.Deadline{KillAfter: h.config.Kill, Slack: guard.Slack(h.config.Lease)}
	h.terminal = foregroundTerminal()
	args := make([]guard.Bytes, len(h.config.Args))
	for i, arg := range h.config.Args {
		args[i] = guard.Bytes(arg)
	}
	var err error
	if h.guard, err = startGuard(h.config.environment(h.held.owner)); err != nil {
		return fmt.Errorf("cannot start the guard: %w", err)
	}
	// As late as can be: of a run that is killed between this and the start of the command, the lock stays taken and nothing has run.
	if err := h.held.keep(context.Background()); err != nil {
		h.guard.dismiss()
		return err
	}
	h.Trust(h.trusted())
	if h.config.MaxHold > 0 {
		h.limit = clock.Boot() + h.config.MaxHold
	}
	if err := h.guard.orders.Send(guard.Plan{
		Path: guard.Bytes(path), Args: args, Until: h.Until(), KillAfter: h.KillAfter, Slack: h.Slack,
		Foreground: h.terminal != nil, Lend: !h.config.Close,
	}); err != nil {
		return fmt.Errorf("cannot start the guard: %w", err)
	}
	h.terminal.ignoreOutputStops() // after the start, because what is ignored is inherited
	h.watch()
	h.terminal.takeBack()
	return h.outcome()
}

// moved is the least by which the trust moves when the lock was renewed. What is less comes of the reading of two clocks.
const moved = time.Millisecond

// trusted is up to when the lock is certainly held. The clock is read first, so what comes in between makes it earlier: a
// suspension, or another process that has the processor meanwhile.
func (h *holder) trusted() time.Duration {
	now := clock.Boot()
	return now + time.Until(h.held.until())
}

func (h *holder) watch() {
	lost := h.held.context(context.Background())
	isLost := lost.Done()
	tick := max(h.config.Lease/60, 10*time.Millisecond)
	timer := time.NewTimer(0)
	reports, reaped := h.guard.reports, h.guard.reaped
	for !h.gone {
		now := clock.Boot()
		if isLost != nil && lost.Err() == nil && !h.Ended() {
			if until := h.trusted(); until > h.Until()+moved {
				h.Trust(until)
				h.asking = false
				h.guard.send(guard.Order{Kind: guard.Trust, Until: until})
			}
		}
		if h.Over(now) {
			h.lose(h.unrenewed())
		}
		h.stopTooLong(now)
		h.overdue(now)
		h.warn(now)
		if h.Kill(now) { // the guard does the same unless it is stopped
			descendants.Signal(syscall.SIGKILL, h.leader, h.guard.pid)
		}
		pause := min(h.Sleep(now), tick)
		if h.limit > now {
			pause = min(pause, h.limit-now)
		}
		switch {
		case reports == nil: // the guard has ended before its work; if it was killed, its children are this process's now
			descendants.Signal(syscall.SIGKILL, h.leader, 0)
			pause = guard.Again
		case h.Late(now):
			h.guard.process.Kill(syscall.SIGKILL)
		}
		timer.Reset(pause)
		select {
		case <-timer.C:
		case <-isLost:
			isLost = nil
			h.lose(context.Cause(lost))
		case e := <-h.requests():
			h.leave(e)
		case s := <-h.signals:
			h.forward(s)
		case r, ok := <-reports:
			if !ok {
				reports, h.gone = nil, reaped == nil
				continue
			}
			h.note(r)
		case <-reaped: // what the guard said before it ended is heard first: how the command has ended
			h.gone, reaped = reports == nil, nil
		}
	}
}

func (h *holder) forward(s os.Signal) {
	if s, ok := s.(syscall.Signal); ok && s != syscall.SIGCONT {
		h.guard.send(guard.Order{Kind: guard.Forward, Signal: s})
	}
}

func (h *holder) note(r guard.Report) {
	switch r.Kind {
	case guard.Started:
		h.pid, h.leader = r.Pid, descendants.Find(r.Pid)
	case guard.Refused:
		h.refused, h.gone = r.Errno, true
	case guard.Stopped:
		if h.terminal != nil {
			h.suspend()
		}
	case guard.Ending:
		h.lose(h.unrenewed())
	case guard.Exited:
		h.status = &r.Status
		h.terminal.takeBack() // Ctrl-C is for this process again, which passes it to what is left
		if h.config.Close && !h.Ended() {
			h.guard.send(guard.Order{Kind: guard.LetGo})
			h.gone = true
		}
	case guard.Gone:
		h.gone = true
	}
}

// outcome is what became of the command.
func (h *holder) outcome() error {
	if h.status != nil {
		switch code := h.status.ExitStatus(); {
		case h.status.Signaled():
			h.result.Signal = int(h.status.Signal())
		default:
			h.result.ExitCode = &code
		}
	}
	switch {
	case h.lost != nil:
		h.result.Error = h.why()
		return exit.Silently(exit.Lost) // it was told when it happened
	case h.tooLong:
		return exit.Silently(exit.TooLong) // as above
	case h.asked:
		return exit.Silently(exit.Asked) // as above
	case h.refused == syscall.ENOENT:
		return exit.With(exit.NotFound, fmt.Errorf("%s: %w", h.config.Args[0], h.refused))
	case h.refused != 0:
		return exit.With(exit.NotExecutable, fmt.Errorf("%s: cannot be executed: %w", h.config.Args[0], h.refused))
	case h.status == nil:
		return exit.With(exit.Signalled+int(syscall.SIGKILL), errors.New("the guard was killed, and the command with it"))
	case h.status.Signaled():
		h.result.Outcome = "signalled"
		return exit.Silently(exit.Signalled + int(h.status.Signal()))
	default:
		h.result.Outcome = "exited"
		return exit.Silently(h.status.ExitStatus())
	}
}
