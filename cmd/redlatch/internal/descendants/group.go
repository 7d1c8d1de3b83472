//go:build unix && !linux

package descendants

import "syscall"

// Adopt does nothing here: orphans go to process 1.
func Adopt() error { return nil }

// Signal sends a signal to the process group of the leader, which may be nil. The number stays the group's while a process of it
// lives, and Left tells when none does.
func Signal(sig syscall.Signal, leader Leader, _ int) {
	if leader != nil && !leader.Group(sig) {
		_ = syscall.Kill(-leader.Pid(), sig) // an error means that it has ended, as it should
	}
}

// A number is a process of which nothing else is known.
type number int

func (n number) Pid() int                  { return int(n) }
func (n number) Group(syscall.Signal) bool { return false }

// Find is the process of that number, which another process has started.
func Find(pid int) Leader { return number(pid) }

// Left tells whether a process of the group lives.
func Left(group int) bool { return group > 1 && syscall.Kill(-group, 0) != syscall.ESRCH }
