package redistest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// dieWithUs makes the kernel kill the server when the test process ends without its cleanups (a panic, a timeout of
// go test). The signal is in fact tied to the thread that started the server; Go ends a thread before the process
// only when a goroutine exits that is still locked to it, which no test of ours does.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// standsStill tells whether the kernel has stopped the process: SIGSTOP only asks for it, and a server on another
// core goes on for a moment.
func standsStill(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // gone
	}
	_, state, _ := bytes.Cut(stat, []byte(") ")) // "pid (name) T ..."
	return len(state) > 0 && state[0] == 'T'
}
