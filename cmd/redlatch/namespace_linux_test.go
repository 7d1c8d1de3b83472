package main

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// isolated has a command run in a namespace of processes of its own, as in a container.
func isolated(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	return cmd
}

func needNamespaces(t *testing.T) {
	if err := isolated(exec.Command("true")).Run(); err != nil {
		t.Skipf("this user may not make a namespace: %v", err)
	}
}

// As process 1 it gets the orphans of others too. They keep the lock only if they come of the command.
func TestAsProcess1ARunCollectsOrphans(t *testing.T) {
	needNamespaces(t)
	srv := redistest.Process(t)
	// The shell mounts the /proc of its namespace, and becomes redlatch by exec. The child that it leaves behind is not
	// waited for.
	script := `mount --make-rprivate / && mount -t proc proc /proc; sleep 1000 >/dev/null 2>&1 & exec "$@"`
	run := runner(srv, "a", "-c", "(sleep 0.3; echo last) & (exec true) & echo $$; exit 3")
	cmd := isolated(exec.Command("sh", append([]string{"-c", script, "sh"}, run.Args...)...))
	cmd.Env, cmd.Stdout, cmd.Stderr = run.Env, run.Stdout, run.Stderr
	code, stdout, stderr := finish(t, cmd)
	require.Equal(t, 3, code, stderr)
	require.Contains(t, stdout, "last\n")
}

// Where /proc shows other processes than those of the namespace, descendants could not be found.
func TestARunRefusesTheProcOfAnotherNamespace(t *testing.T) {
	needNamespaces(t)
	srv := redistest.Process(t)
	code, stdout, stderr := finish(t, isolated(runner(srv, "a", "echo", "in")))
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "mount the one of this namespace")
}
