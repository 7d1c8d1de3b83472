//go:build unix

package main

import (
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/doctor"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
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
func TestASignalEndsTheWaitForASilentServer(t *testing.T) {
	for _, command := range []string{"demo", "ls", "top", "inspect x", "doctor", "check"} {
		for signal, code := range map[syscall.Signal]int{syscall.SIGINT: exit.Interrupted, syscall.SIGTERM: exit.Terminated} {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			var stdout, stderr strings.Builder
			cmd := exec.Command(binary, append(strings.Fields(command), "--url", "redis://"+listener.Addr().String())...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			conn, err := listener.Accept() // it has connected, and waits for the answer
			require.NoError(t, err)
			began := time.Now()
			require.NoError(t, cmd.Process.Signal(signal))
			require.Error(t, cmd.Wait())
			require.Less(t, time.Since(began), 5*time.Second, command)
			said := ""
			switch command {
			case "demo":
				code, said = exit.Interrupted, "redlatch demo: interrupted before the server "+listener.Addr().String()+" answered\n"
			case "check":
				code = doctor.MonitorUnknown
			}
			require.Equal(t, code, cmd.ProcessState.ExitCode(), command)
			require.Equal(t, said, stderr.String(), command)
			if command == "check" {
				require.Contains(t, stdout.String(), "REDLATCH UNKNOWN - "+map[syscall.Signal]string{syscall.SIGINT: "interrupted", syscall.SIGTERM: "terminated"}[signal])
			} else {
				require.Empty(t, stdout.String(), command)
			}
			_, _ = conn.Close(), listener.Close()
		}
	}
}
