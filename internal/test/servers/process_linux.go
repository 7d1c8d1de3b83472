package servers

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// dieWithUs makes the kernel kill the server when our process ends without closing it (a panic, a timeout of go test).
// The signal is tied to the thread that started the server: start keeps that thread until the server has ended.
// The server has a process group of its own, so that an interrupt from the terminal is for us alone: we end the server
// when we are done with it.
func dieWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// killGroup kills the server and its children, which write snapshots for it.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // fails only when all have ended by themselves
}

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
