//go:build unix && !linux

package descendants

import "syscall"

// Adopt does nothing here: orphans go to process 1.
func Adopt() error { return nil }

// Signal sends a signal to the process group of the command.
func Signal(sig syscall.Signal, command Command, _ int) {
	if command.Pid > 1 {
		_ = syscall.Kill(-command.Pid, sig) // an error means that it has ended, as it should
	}
}

// Left tells whether a process of the group lives.
func Left(group int) bool { return group > 1 && syscall.Kill(-group, 0) != syscall.ESRCH }
