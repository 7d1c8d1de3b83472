//go:build unix

package guard

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
)

// LifeVariable tells a nested run of the pipe that is open while this guard lives: its number and its inode.
const LifeVariable = "REDLATCH_GUARD"

// start starts the command in a process group of its own. The command has what this process was started with: descriptors
// above stderr too.
func (g *guard) start() bool {
	env := os.Environ()
	if g.plan.Lend {
		if life, ok := lend(); ok {
			env = append(env, life)
		}
	}
	args := make([]string, len(g.plan.Args))
	for i, arg := range g.plan.Args {
		args[i] = string(arg)
	}
	attr := &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: attributes(g.plan.Foreground)}
	pid, err := syscall.ForkExec(string(g.plan.Path), args, attr)
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		_ = g.out.Send(Report{Kind: Refused, Errno: errno})
		return false
	}
	g.child = descendants.NewChild(pid)
	_ = g.out.Send(Report{Kind: Started, Pid: pid})
	return true
}

// lend makes a pipe whose writing end is here alone. The command inherits the other end at the number that it has here, which
// no descriptor of the user's has.
func lend() (variable string, ok bool) {
	var ends [2]int
	if syscall.Pipe(ends[:]) != nil {
		return "", false
	}
	syscall.CloseOnExec(ends[1])
	var about syscall.Stat_t
	if syscall.Fstat(ends[0], &about) != nil {
		return "", false
	}
	return fmt.Sprintf("%s=%d:%d", LifeVariable, ends[0], about.Ino), true
}

// A status is what wait tells of a process.
type status struct {
	pid  int
	wait syscall.WaitStatus
}

// reap collects the statuses of all children, adopted ones included, and closes the channel when none is left.
func reap(child *descendants.Child) <-chan status {
	statuses := make(chan status, 16)
	go func() {
		defer close(statuses)
		child.Collect(func(pid int, wait syscall.WaitStatus) { statuses <- status{pid, wait} })
		for descendants.Left(child.Pid()) {
			time.Sleep(look)
		}
	}()
	return statuses
}
