//go:build unix

package redistest

import (
	"syscall"
	"time"
)

func (p *process) pause() {
	p.tb.Helper()
	p.signal(syscall.SIGSTOP)
	for deadline := time.Now().Add(patience); !standsStill(p.cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.tb.Fatalf("redistest: %s on port %d still runs %v after SIGSTOP", program, p.port, patience)
		}
	}
}

func (p *process) resume() { p.tb.Helper(); p.signal(syscall.SIGCONT) }

func (p *process) signal(sig syscall.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.tb.Fatalf("redistest: send %v to %s on port %d: %v", sig, program, p.port, err)
	}
}
