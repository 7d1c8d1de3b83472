//go:build unix

package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

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
			require.Equal(t, exitInterrupted, code)
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
	require.Equal(t, exitInterrupted, code)
	require.True(t, result.Interrupted)
	require.Empty(t, left(t, srv))
}
