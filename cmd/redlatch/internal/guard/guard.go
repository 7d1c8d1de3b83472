//go:build unix

package guard

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
	"github.com/redlatch/redlatch/internal/clock"
)

// ErrNotStarted is the error of a guard that a person has started.
var ErrNotStarted = errors.New("this is started by \"redlatch run\" alone")

type guard struct {
	Deadline
	plan     Plan
	out      *Sender
	orders   <-chan Order
	statuses <-chan status
	child    *descendants.Child // the command, which leads a process group
}

// Run is the whole life of the guard. orders and reports are the file descriptors of its pipes.
func Run(orders, reports int) error {
	// A parent-death signal comes when the thread ends that has started the command, so that one lives as long as the guard.
	runtime.LockOSThread()
	for _, fd := range []int{orders, reports} {
		var about syscall.Stat_t
		if syscall.Fstat(fd, &about) != nil || about.Mode&syscall.S_IFMT != syscall.S_IFIFO {
			return ErrNotStarted
		}
		syscall.CloseOnExec(fd) // or the command would keep the pipe open when this process has ended
	}
	if err := syscall.SetNonblock(reports, true); err != nil {
		return err
	}
	heed := make(chan os.Signal, 1)
	for _, s := range Forwarded {
		if !signal.Ignored(s) { // what is ignored here stays so in the command, as under nohup
			signal.Notify(heed, s) // and is not looked at: the holder forwards what is meant for the command
		}
	}
	if err := descendants.Adopt(); err != nil {
		return err
	}
	in := json.NewDecoder(os.NewFile(uintptr(orders), "orders"))
	g := &guard{out: NewSender(os.NewFile(uintptr(reports), "reports"))}
	if err := in.Decode(&g.plan); err != nil {
		return err // the holder has ended
	}
	g.Deadline = Deadline{KillAfter: g.plan.KillAfter, Slack: g.plan.Slack}
	g.Trust(g.plan.Until)
	g.orders = receive[Order](in)
	early := g.catchUp()
	if g.Over(clock.Boot()) { // this process has started too late, on a machine that is very busy
		_ = g.out.Send(Report{Kind: Ending}) // if it fails, the holder has ended
		return g.out.Send(Report{Kind: Gone})
	}
	if !g.start() {
		return nil
	}
	g.statuses = reap(g.child)
	for _, sig := range early {
		g.forward(sig)
	}
	g.watch()
	return nil
}

// catchUp hears what the holder has said while this process was starting, if the trust of the plan is over by now: on a machine
// with a load of 56 a start took up to 1.6 s, and the lock has been renewed meanwhile. It returns the signals for the command,
// which is yet to be started.
func (g *guard) catchUp() (early []syscall.Signal) {
	for patience := time.After(g.Slack); g.Over(clock.Boot()); {
		select {
		case order, ok := <-g.orders:
			switch {
			case !ok || order.Kind == Stop:
				return early // it is over
			case order.Kind == Trust:
				g.Trust(order.Until)
			case order.Kind == Forward:
				early = append(early, order.Signal)
			}
		case <-patience:
			if len(g.orders) == 0 {
				return early
			}
			patience = time.After(0)
		}
	}
	return early
}

// watch returns when no descendant is left, or none is to be guarded any longer.
func (g *guard) watch() {
	timer := time.NewTimer(0)
	for {
		now := clock.Boot()
		if g.Over(now) {
			g.end(now)
		}
		if g.Kill(now) {
			descendants.Signal(syscall.SIGKILL, g.child, 0)
		}
		timer.Reset(g.Sleep(now))
		select {
		case <-timer.C:
		case order, ok := <-g.orders:
			if !ok { // the holder has ended
				g.orders = nil
				g.end(clock.Boot())
				continue
			}
			if order.Kind == LetGo {
				return
			}
			g.obey(order)
		case s, ok := <-g.statuses:
			if !ok {
				_ = g.out.Send(Report{Kind: Gone}) // if it fails, the holder has ended
				return
			}
			g.note(s)
		}
	}
}

func (g *guard) obey(order Order) {
	switch order.Kind {
	case Trust:
		g.Trust(order.Until)
	case Stop:
		g.end(clock.Boot())
	case Resume:
		if !g.child.Group(syscall.SIGCONT) {
			descendants.Signal(syscall.SIGCONT, g.child, 0)
		}
	case Forward:
		g.forward(order.Signal)
	}
}

// end asks all descendants to end. One that is stopped is continued, or it would not hear of it.
func (g *guard) end(now time.Duration) {
	if !g.End(now) {
		return
	}
	_ = g.out.Send(Report{Kind: Ending})
	descendants.Signal(syscall.SIGTERM, g.child, 0)
	descendants.Signal(syscall.SIGCONT, g.child, 0)
}

func (g *guard) note(s status) {
	switch {
	case s.pid != g.child.Pid():
	case s.wait.Stopped():
		if !g.Ended() {
			_ = g.out.Send(Report{Kind: Stopped, Status: s.wait})
		}
	case s.wait.Exited(), s.wait.Signaled():
		_ = g.out.Send(Report{Kind: Exited, Status: s.wait})
	}
}
