//go:build unix

package descendants

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// A Child is a process that this one has started and collects.
type Child struct {
	pid int

	mu        sync.Mutex // held while it is signalled, and while children are collected
	collected bool
}

// NewChild is the child of that number, which is not collected yet.
func NewChild(pid int) *Child { return &Child{pid: pid} }

// Pid is its number.
func (c *Child) Pid() int { return c.pid }

// Kill signals the child. It sends nothing and answers false when the child has been collected.
func (c *Child) Kill(sig syscall.Signal) bool { return c.send(c.pid, sig) }

// Group signals the process group that the child leads, as Kill does the child.
func (c *Child) Group(sig syscall.Signal) bool { return c.send(-c.pid, sig) }

func (c *Child) send(to int, sig syscall.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.collected {
		return false
	}
	_ = syscall.Kill(to, sig) // an error means that it has ended, as it should
	return true
}

// collectAgain is how long a child may wait that has ended without a signal to this process.
const collectAgain = 250 * time.Millisecond

// Collect collects all children of this process, adopted ones included, and tells of each that has ended or was stopped. It returns when
// there is no child.
func (c *Child) Collect(tell func(pid int, status syscall.WaitStatus)) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	again := time.NewTicker(collectAgain)
	defer again.Stop()
	for {
		pid, status, err := c.next()
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid > 0:
			tell(pid, status)
		default:
			select {
			case <-ended:
			case <-again.C:
			}
		}
	}
}

// next collects one child, and answers 0 if none has ended.
func (c *Child) next() (pid int, status syscall.WaitStatus, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err = syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
	if pid == c.pid && !status.Stopped() {
		c.collected = true
	}
	return pid, status, err
}
