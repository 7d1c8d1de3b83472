//go:build unix

package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestTheLabelOfARunIsShownBesideItsProcess(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	for name, mode := range map[string][]string{"lock": nil, "reader": {"-s"}, "writer": {"-x"}, "permits": {"-N", "1"}} {
		begin(t, runner(srv, append(mode, "--label", "job of the "+name, name, "-c", "echo; exec sleep 100")...))
	}
	for _, name := range []string{"lock", "reader", "writer", "permits"} {
		h := shown(t, srv.Client(t), name)
		require.Equal(t, "job of the "+name, h.Client.Label)
	}
	_, stdout, _ := use("ls", "--url", "redis://"+srv.Addr)
	require.Regexp(t, `writer +read-write lock +write: .* redlatch pid \d+ \(job of the writer\)`, stdout)
}

func TestACommandThatHasEndedIsNotInTheRegistry(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	client := srv.Client(t)
	entries := func() int { return len(client.Keys(t.Context(), "redlatch_client:*").Val()) }
	for _, mode := range [][]string{nil, {"-s"}, {"-x"}, {"-N", "1"}} {
		cmd := runner(srv, append(mode, "job"+strings.Join(mode, ""), "-c", "echo; exec sleep 100")...)
		begin(t, cmd)
		redistest.Eventually(t, "the entry is there", func() bool { return entries() == 1 })
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.Error(t, cmd.Wait(), "the code of a command that was ended")
		require.Zero(t, entries(), "%v", mode)
	}
	ends(t, srv, exit.OK, "countdown", "latch", "--set", "1")
	cmd := exec.Command(binary, "wait", "latch", "--url", "redis://"+srv.Addr)
	require.NoError(t, cmd.Start())
	redistest.Eventually(t, "the entry is there", func() bool { return entries() == 1 })
	ends(t, srv, exit.OK, "countdown", "latch")
	require.NoError(t, cmd.Wait())
	require.Zero(t, entries())
}
