//go:build !linux

package servers

import (
	"os"
	"syscall"
)

// dieWithUs can ask for nothing here: a process that ends without closing its servers leaves them running.
func dieWithUs() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) {
	_ = p.Kill() // fails only when it has ended by itself
}

// standsStill believes the signal: there is no portable way to see that a process has stopped.
func standsStill(int) bool { return true }
