//go:build unix

package servers

import (
	"fmt"
	"syscall"
	"time"
)

func (s *Server) pause() error {
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); !standsStill(s.cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("it still runs %v after SIGSTOP", patience)
		}
	}
	return nil
}

func (s *Server) resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
