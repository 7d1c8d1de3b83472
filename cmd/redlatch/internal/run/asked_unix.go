//go:build unix

package run

import (
	"syscall"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
	screen "github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

// requests is the channel of requests, or none while there is no command that could be ended.
func (h *holder) requests() <-chan redlatch.Event {
	if h.pid == 0 {
		return nil
	}
	return h.held.news.asked
}

// leave sends SIGTERM to the command, and to all that the command has started, after a request for the lock. It kills nothing: a command that
// ignores SIGTERM keeps the lock.
func (h *holder) leave(e redlatch.Event) {
	if h.Ended() {
		return
	}
	h.asked = h.status == nil // else the command has ended by itself, and its exit code counts
	descendants.Signal(syscall.SIGTERM, h.leader, h.guard.pid)
	descendants.Signal(syscall.SIGCONT, h.leader, h.guard.pid)
	h.config.Complain("%s asks for the lock, and the command is asked to end: %s", screen.Clean(e.Who), screen.Clean(e.Why))
}
