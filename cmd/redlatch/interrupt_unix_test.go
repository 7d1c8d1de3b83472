//go:build unix

package main

import (
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/redistest"
)

// A terminal sends the signal to all processes, workers included.
func TestCtrlCStopsTheWorkersAndLeavesNoKey(t *testing.T) {
	each(t, func(t *testing.T, srv *redistest.Server) {
		for _, moment := range []string{"workers started", "start latch", "is killed"} {
			r := prepare(t, srv)
			r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			r.start()
			r.until(moment)
			require.NoError(t, syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT))
			code, result := r.wait()
			require.Equal(t, exit.Interrupted, code)
			require.True(t, result.Interrupted)
			require.False(t, result.OK)
			require.Empty(t, left(t, srv), moment)
		}
	})
}

func TestSIGTERMIsAnInterruptToo(t *testing.T) {
	srv := redistest.Mini(t)
	r := start(t, srv)
	r.until("start latch")
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	code, result := r.wait()
	require.Equal(t, exit.Interrupted, code)
	require.True(t, result.Interrupted)
	require.Empty(t, left(t, srv))
}

// A server that accepts connections and says nothing would otherwise hold the command up until the client gives up.
func TestCtrlCEndsTheWaitForASilentServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	var stdout, stderr strings.Builder
	cmd := exec.Command(binary, "demo", "--url", "redis://"+listener.Addr().String())
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	conn, err := listener.Accept() // it has connected, and waits for the answer
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Equal(t, exit.Interrupted, cmd.ProcessState.ExitCode())
	require.Empty(t, stdout.String())
	require.Equal(t, "redlatch demo: interrupted before the server "+listener.Addr().String()+" answered\n", stderr.String())
}
