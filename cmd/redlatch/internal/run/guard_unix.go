//go:build unix

package run

import (
	"os"
	"strconv"
	"syscall"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/guard"
)

// GuardCommand is the subcommand that is the guard.
const GuardCommand = "run-guard"

// A guardProcess is the guard as the holder sees it.
type guardProcess struct {
	pid     int
	process *descendants.Child
	orders  *guard.Sender
	reports <-chan guard.Report
	reaped  <-chan struct{} // closed when this process has no child any more
}

// startGuard starts this program again. It does nothing until it has got its plan. The ends of the pipes keep their numbers, so that descriptors above stderr that the
// user has opened reach the command as they are.
func startGuard(env []string) (*guardProcess, error) {
	ordersOut, ordersIn, err := pipe()
	if err != nil {
		return nil, err
	}
	reportsOut, reportsIn, err := pipe()
	if err != nil {
		return nil, err
	}
	for _, own := range []int{ordersIn, reportsOut} {
		syscall.CloseOnExec(own)
		if err := syscall.SetNonblock(own, true); err != nil {
			return nil, err
		}
	}
	self, err := program()
	if err != nil {
		return nil, err
	}
	args := []string{"redlatch", GuardCommand, strconv.Itoa(ordersOut), strconv.Itoa(reportsIn)}
	pid, err := syscall.ForkExec(self, args, &syscall.ProcAttr{
		Env: env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true}, // or a kill of the shell's job would end both processes
	})
	_ = syscall.Close(ordersOut)
	_ = syscall.Close(reportsIn)
	if err != nil {
		return nil, err
	}
	process := descendants.NewChild(pid)
	g := &guardProcess{
		pid:     pid,
		process: process,
		orders:  guard.NewSender(os.NewFile(uintptr(ordersIn), "orders")),
		reports: guard.Reports(os.NewFile(uintptr(reportsOut), "reports")),
		reaped:  reap(process),
	}
	return g, nil
}

// dismiss ends a guard that has got no plan.
func (g *guardProcess) dismiss() {
	g.orders.Close()
	<-g.reaped
}

func pipe() (out, in int, err error) {
	var ends [2]int
	err = syscall.Pipe(ends[:])
	return ends[0], ends[1], err
}

// program is this program, also when its file has been replaced since.
func program() (string, error) {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return running, nil
	}
	return os.Executable()
}

// send tells the guard something. That it has ended, or is stopped, is seen elsewhere.
func (g *guardProcess) send(order guard.Order) { _ = g.orders.Send(order) }

// reap waits for the guard and, if that is killed, for what this process inherits of it. As process 1 of a container it has
// other orphans too.
func reap(guard *descendants.Child) <-chan struct{} {
	none := make(chan struct{})
	go func() {
		defer close(none)
		guard.Collect(func(int, syscall.WaitStatus) {})
	}()
	return none
}
