package soak

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/redlatch/redlatch/proof/internal/history"
)

const monotonic = 1 // CLOCK_MONOTONIC, one for all processes of a machine

// now reads the clock of all journals by a system call: no library in between may have an idea of its own of the time.
func now() history.Time {
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic(fmt.Sprint("soak: read CLOCK_MONOTONIC: ", errno))
	}
	return history.Time(t.Nano())
}

const supported = true

// suspend and resume stop a process and let it go on.
func suspend(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }
func resume(pid int) error  { return syscall.Kill(pid, syscall.SIGCONT) }

// withUs has a worker end with the process that started it.
func withUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
