//go:build unix

package guard

import (
	"syscall"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
)

// Forwarded are the signals that the holder passes on.
var Forwarded = []syscall.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
}

// forward hands a signal to the command. Those that end things go to its whole process group, as a terminal sends them: the
// children of a shell would survive otherwise. The others are for the command alone. When the command has ended and its
// descendants have not, those that end things go to them.
func (g *guard) forward(sig syscall.Signal) {
	ends := sig == syscall.SIGINT || sig == syscall.SIGTERM || sig == syscall.SIGQUIT
	switch {
	case !ends:
		g.child.Kill(sig)
	case !g.child.Group(sig):
		descendants.Signal(sig, g.child, 0)
	}
}
