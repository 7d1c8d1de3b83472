//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// unheard is a pipe that nobody reads: its reader has ended, or is stopped and the pipe is full.
func unheard(t *testing.T, ended bool) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = writer.Close() })
	if ended {
		require.NoError(t, reader.Close())
		return writer
	}
	t.Cleanup(func() { _ = reader.Close() })
	fd := int(writer.Fd())
	require.NoError(t, syscall.SetNonblock(fd, true))
	for err == nil {
		_, err = syscall.Write(fd, make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.EAGAIN)
	require.NoError(t, syscall.SetNonblock(fd, false))
	return writer
}

func TestARunThatIsAskedEndsInOrderThoughNobodyHearsIt(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	srv := redistest.Process(t)
	client := srv.Client(t)
	for _, ended := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "result")
		cmd := runner(srv, "--result", file, "a", "-c", "exec 2>&-; trap 'exit 3' TERM; echo in; while :; do sleep 0.05; done")
		cmd.Stderr = unheard(t, ended)
		begin(t, cmd)
		shown(t, client, "a")
		require.Contains(t, ends(t, srv, exit.OK, "unlock", "a", "--ask", "1m", "--reason", "x"), "a: given back\n")
		require.Error(t, cmd.Wait())
		require.Equal(t, exit.Asked, cmd.ProcessState.ExitCode(), cmd.ProcessState)
		require.Equal(t, "asked", outcome(t, file).Outcome)
		require.Zero(t, client.Exists(t.Context(), "a").Val())
	}
}

func TestACommandOfARunIsEndedByAPipeThatNobodyReads(t *testing.T) {
	srv := redistest.Process(t)
	code, _, stderr := finish(t, runner(srv, "a", "-c", "kill -PIPE $$"))
	require.Equal(t, exit.Signalled+int(syscall.SIGPIPE), code, stderr)
}

// What a command has done, and its exit code, do not depend on a reader of its output.
func TestCommandsDoTheirWorkThoughNobodyHearsThem(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	unread := func(args ...string) int {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), connect.URLVariable+"=redis://"+srv.Addr)
		cmd.Stdout = unheard(t, true)
		cmd.Stderr = cmd.Stdout
		_ = cmd.Run() // the exit code says it all
		return cmd.ProcessState.ExitCode()
	}
	const owner = "33333333-3333-4333-8333-333333333333:57"
	for _, how := range [][]string{{"-o", "json"}, {"-o", "table"}, {"--ask", "1s", "--force"}} {
		require.NoError(t, client.HSet(context.Background(), "a", owner, 1).Err())
		require.Equal(t, exit.OK, unread(append([]string{"unlock", "a", "--reason", "x", "--owner", owner}, how...)...), how)
		require.Zero(t, client.Exists(t.Context(), "a").Val())
	}
	require.Equal(t, exit.Failed, unread("unlock", "a", "--reason", "x", "--owner", owner))
	require.Equal(t, exit.Failed, unread("unlock", "a", "--reason", "x", "--owner", owner, "-o", "json"))

	require.Equal(t, exit.OK, unread("countdown", "c", "--set", "1"))
	require.Equal(t, exit.OK, unread("countdown", "c"))
	left, err := countdownlatch.New(client, "c").Count(t.Context())
	require.NoError(t, err)
	require.Zero(t, left)
	require.Equal(t, exit.OK, unread("wait", "c"))
	require.Equal(t, exit.OK, unread("permits", "p", "--set", "2", "-o", "json"))
	require.Equal(t, exit.Failed, unread("permits", "p", "--set", "2"))

	require.Equal(t, exit.Usage, unread("unlock"), "the error has no reader either")
	hold, err := rlock.New(client, "a").Lock(t.Context())
	require.NoError(t, err)
	require.Equal(t, exit.Busy, unread("run", "-n", "a", "true"))
	require.NoError(t, hold.Unlock(t.Context()))
	require.Equal(t, exit.Signalled+int(syscall.SIGPIPE), unread("ls"), "it was only to show something")
}
