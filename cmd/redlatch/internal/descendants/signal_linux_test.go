package descendants_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/descendants"
)

// start starts a shell that writes a line when it is ready.
func start(t *testing.T, group bool, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: group}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error means that it has ended
		_ = cmd.Wait()
	})
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return cmd
}

// What leaves its parent's group between the look and the signal gets the signal too.
func TestWhatIsForkedBetweenTheLookAndTheSignalIsSignalled(t *testing.T) {
	first := start(t, true, "echo; exec sleep 1000")
	var late []*exec.Cmd
	defer descendants.Between(func() {
		if late == nil {
			late = append(late, start(t, true, "echo; exec sleep 1000"))
			time.Sleep(50 * time.Millisecond) // the kernel says when a process has begun in hundredths of a second
		}
	})()
	descendants.Signal(syscall.SIGTERM, nil, 0)
	require.Len(t, late, 1)
	for _, cmd := range append(late, first) {
		require.Error(t, cmd.Wait())
		require.Equal(t, syscall.SIGTERM, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
}

// What a command starts because of the signal is how it ends in order.
func TestWhatIsStartedInAnswerToASignalGetsNone(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	cmd := start(t, true, "trap 'setsid sh -c \"sleep 1 && echo > "+done+"\"; exit 7' TERM; echo; while :; do sleep 0.05; done")
	looks := 0
	defer descendants.Between(func() {
		if looks++; looks == 1 {
			other := start(t, true, "echo; exec sleep 1000") // so that there is another look
			t.Cleanup(func() { _ = other.Process.Kill() })
		}
		time.Sleep(100 * time.Millisecond)
	})()
	descendants.Signal(syscall.SIGTERM, nil, 0)
	require.Greater(t, looks, 1)
	require.Error(t, cmd.Wait())
	require.Equal(t, 7, cmd.ProcessState.ExitCode())
	require.FileExists(t, done)
}

func TestTheExceptionIsLeftOut(t *testing.T) {
	cmd := start(t, true, "echo; exec sleep 1000")
	descendants.Signal(syscall.SIGTERM, nil, cmd.Process.Pid)
	descendants.Signal(syscall.SIGKILL, nil, cmd.Process.Pid)
	require.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
	require.Error(t, cmd.Wait())
	require.Equal(t, syscall.SIGUSR1, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

// The number of a process that was collected is free for another one.
func TestNothingIsSentToTheNumberOfAProcessThatWasCollected(t *testing.T) {
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "exit 3"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setpgid: true}})
	require.NoError(t, err)
	child, found := descendants.NewChild(pid), descendants.Find(pid)
	require.NotNil(t, found)
	require.True(t, child.Kill(0))
	require.True(t, child.Group(0), "it has ended or not, but its number is its own")
	told := 0
	child.Collect(func(of int, status syscall.WaitStatus) {
		require.Equal(t, pid, of)
		require.Equal(t, 3, status.ExitStatus())
		require.False(t, child.Kill(0), "before anybody is told")
		require.False(t, child.Group(0))
		told++
	})
	require.Equal(t, 1, told)
	require.False(t, found.Group(0))
	require.Nil(t, descendants.Find(pid))
}

func TestAChildThatIsStoppedIsNotCollected(t *testing.T) {
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "kill -STOP $$; exit 3"}, &syscall.ProcAttr{Env: os.Environ()})
	require.NoError(t, err)
	child := descendants.NewChild(pid)
	stopped := false
	child.Collect(func(_ int, status syscall.WaitStatus) {
		if status.Stopped() {
			stopped = true
			require.True(t, child.Kill(syscall.SIGCONT))
		}
	})
	require.True(t, stopped)
	require.False(t, child.Kill(0))
}
